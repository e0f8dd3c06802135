"""Small manifests in the legacy format of February (snapshot F).

Written by hand for these tests; the names of fields are the compatibility promise, the values are ours.
"""

FEBRUARY = """
apiVersion: agents.proompteng.ai/v1alpha1
kind: Agent
metadata: {name: a}
spec:
  providerRef: {name: p}
  config: {model: {name: big}, effort: 3}
  env: [{name: LEVEL, value: high}]
  memoryRef: {name: m}
  vcsRef: {name: v}
  security: {allowedServiceAccounts: [runner], allowedSecrets: [token]}
  defaults: {timeoutSeconds: 60, retryLimit: 1, systemPrompt: Be brief.}
status:
  observedGeneration: 2
  updatedAt: "2026-02-07T09:00:00Z"
  conditions:
    - type: Ready
      status: "True"
      reason: ValidSpec
      message: ""
      lastTransitionTime: "2026-02-07T09:00:00Z"
---
apiVersion: agents.proompteng.ai/v1alpha1
kind: AgentProvider
metadata: {name: p}
spec:
  binary: /usr/local/bin/agent-runner
  argsTemplate: ["--task", "{{ implementation.text }}"]
  envTemplate: {STAGE: "{{ parameters.stage }}"}
  inputFiles: [{path: /workspace/a.txt, content: hello}]
  outputArtifacts: [{name: log, path: /workspace/log, key: "logs/{{ agentRun.name }}", url: "https://host/log"}]
---
apiVersion: agents.proompteng.ai/v1alpha1
kind: AgentRun
metadata: {name: r}
spec:
  agentRef: {name: a}
  implementationSpecRef: {name: i}
  runtime:
    type: workflow
    config: {serviceAccount: runner, backoffLimit: 0, tolerations: [{key: gpu, operator: Exists}]}
  workflow:
    steps:
      - name: one
        implementation: {inline: {text: Do it., summary: It}}
        parameters: {stage: plan}
        workload: {image: "busybox:1.37", resources: {requests: {cpu: 100m}, limits: {memory: 1Gi}}}
        retries: 2
        retryBackoffSeconds: 5
        timeoutSeconds: 60
      - name: two
        implementationSpecRef: {name: other}
  workload:
    volumes:
      - {type: emptyDir, name: tmp, mountPath: /tmp, sizeLimit: 1Gi, medium: Memory}
      - {type: pvc, name: data, mountPath: /data, claimName: data, readOnly: true}
      - {type: secret, name: key, mountPath: /key, secretName: key}
  parameters: {stage: all}
  secrets: [token]
  systemPrompt: Be kind.
  memoryRef: {name: m}
  vcsRef: {name: v}
  vcsPolicy: {required: true, mode: read-only}
  idempotencyKey: k
  ttlSecondsAfterFinished: 600
status:
  phase: Running
  runtimeRef: {type: workflow, name: r-step-1-attempt-1, jobObservedAt: "2026-02-07T09:00:00Z"}
  startedAt: "2026-02-07T09:00:00Z"
  finishedAt: "2026-02-07T09:10:00Z"
  updatedAt: "2026-02-07T09:10:00Z"
  observedGeneration: 1
  artifacts: [{name: log, path: /p, key: k, url: "https://host/log"}]
  vcs: {provider: v, repository: example/app, baseBranch: main, headBranch: work, mode: read-only}
  contract: {requiredKeys: [repository], missingKeys: []}
  systemPromptHash: abc
  workflow:
    phase: Running
    lastTransitionTime: "2026-02-07T09:00:00Z"
    steps:
      - name: one
        phase: Retrying
        attempt: 1
        startedAt: "2026-02-07T09:00:00Z"
        finishedAt: "2026-02-07T09:01:00Z"
        jobObservedAt: "2026-02-07T09:00:10Z"
        lastTransitionTime: "2026-02-07T09:01:00Z"
        message: again
        nextRetryAt: "2026-02-07T09:02:00Z"
        jobRef: {name: r-step-1-attempt-1, namespace: default, uid: u}
---
apiVersion: agents.proompteng.ai/v1alpha1
kind: ImplementationSpec
metadata: {name: i}
spec:
  text: Do it.
  summary: It
  description: Because.
  acceptanceCriteria: [Done.]
  labels: [x]
  source: {provider: github, externalId: "example/app#1", url: "https://host/1"}
  vcsRef: {name: v}
  contract: {requiredKeys: [repository], mappings: [{from: repo, to: repository}]}
status: {observedGeneration: 1, syncedAt: "2026-02-07T09:00:00Z", sourceVersion: "7"}
---
apiVersion: agents.proompteng.ai/v1alpha1
kind: ImplementationSource
metadata: {name: s}
spec:
  provider: linear
  auth: {secretRef: {name: hook, key: token}}
  scope: {repository: example/app, organization: example, team: T, project: P, query: q, labels: [x]}
  mapping: {title: summary}
  webhook: {enabled: true}
status:
  lastSyncedAt: "2026-02-07T09:00:00Z"
  lastWebhook:
    deliveryId: d
    idempotencyKey: k
    provider: linear
    externalId: E-1
    sourceVersion: "7"
    status: processed
    attempts: 1
    receivedAt: "2026-02-07T09:00:00Z"
    processedAt: "2026-02-07T09:00:01Z"
    error: none
---
apiVersion: agents.proompteng.ai/v1alpha1
kind: Memory
metadata: {name: m}
spec: {type: postgres, connection: {secretRef: {name: db, key: uri}}, default: true, capabilities: [vector]}
status: {lastCheckedAt: "2026-02-07T09:00:00Z"}
---
apiVersion: agents.proompteng.ai/v1alpha1
kind: VersionControlProvider
metadata: {name: v}
spec:
  provider: github
  apiBaseUrl: "https://api.host"
  cloneBaseUrl: "https://clone.host"
  webBaseUrl: "https://web.host"
  cloneProtocol: https
  sshHost: host
  sshUser: git
  auth:
    method: app
    username: bot
    token: {secretRef: {name: t, key: token}, type: fine_grained}
    app: {appId: 12, installationId: "34", privateKeySecretRef: {name: k, key: pem}, tokenTtlSeconds: 60}
    ssh: {privateKeySecretRef: {name: k}, knownHostsConfigMapRef: {name: h, key: known_hosts}}
  capabilities: {read: true, write: true, pullRequests: false}
  repositoryPolicy: {allow: ["example/*"], deny: [example/secret]}
  defaults:
    baseBranch: main
    branchTemplate: "work/{{ agentRun.name }}"
    branchConflictSuffixTemplate: "-{{ agentRun.uid }}"
    commitAuthorName: Bot
    commitAuthorEmail: bot@host
    pullRequest: {enabled: true, draft: true, titleTemplate: t, bodyTemplate: b}
status: {lastValidatedAt: "2026-02-07T09:00:00Z"}
---
apiVersion: orchestration.proompteng.ai/v1alpha1
kind: Orchestration
metadata: {name: o}
spec:
  entrypoint: build
  policies: {anything: [1]}
  steps:
    - name: build
      kind: ToolRun
      toolRef: {name: t}
      with: {who: world}
      retries: 1
      retryBackoffSeconds: 5
      timeoutSeconds: 60
    - name: ask
      kind: ApprovalGate
      policyRef: ap
      dependsOn: [build]
    - {name: wait, kind: SignalWait, signalRef: {name: s}, deliveryId: d}
    - name: agent
      kind: AgentRun
      agentRef: {name: a}
      implementationSpecRef: {name: i}
      runtime: {type: job, config: {serviceAccount: runner}}
      workload: {image: "busybox:1.37"}
      workflow: {steps: [{name: main}]}
      memoryRef: {name: m}
      secrets: [token]
    - {name: nested, kind: SubOrchestration, orchestrationRef: {name: other}}
status: {phase: Ready, observedGeneration: 1}
---
apiVersion: orchestration.proompteng.ai/v1alpha1
kind: OrchestrationRun
metadata: {name: or}
spec: {orchestrationRef: {name: o}, parameters: {env: test}, deliveryId: d}
status:
  phase: Running
  runId: x
  startedAt: "2026-02-07T09:00:00Z"
  stepStatuses:
    - name: build
      kind: ToolRun
      phase: Succeeded
      message: done
      attempt: 1
      startedAt: "2026-02-07T09:00:00Z"
      finishedAt: "2026-02-07T09:01:00Z"
      lastTransitionTime: "2026-02-07T09:01:00Z"
      nextRetryAt: "2026-02-07T09:02:00Z"
      resourceRef:
        apiVersion: tools.proompteng.ai/v1alpha1
        kind: ToolRun
        name: n
        namespace: default
        uid: u
      outputs: {image: x}
---
apiVersion: tools.proompteng.ai/v1alpha1
kind: Tool
metadata: {name: t}
spec:
  image: busybox:1.37
  command: [/bin/sh]
  args: ["-c", "echo {{ parameters.who }}"]
  env: [{name: A, value: b}]
  serviceAccount: runner
  workingDir: /tmp
  timeoutSeconds: 60
  ttlSecondsAfterFinished: 60
status: {phase: Ready}
---
apiVersion: tools.proompteng.ai/v1alpha1
kind: ToolRun
metadata: {name: tr}
spec: {toolRef: {name: t}, parameters: {who: world}, deliveryId: d, runtime: {type: job}}
status: {phase: Succeeded, runId: x, runtimeRef: {type: job, name: tr-job}, startedAt: "2026-02-07T09:00:00Z"}
---
apiVersion: approvals.proompteng.ai/v1alpha1
kind: ApprovalPolicy
metadata: {name: ap}
spec: {mode: manual, defaultDecision: deny, subjects: [{kind: Orchestration, name: o, namespace: default}]}
status: {phase: Active, lastDecisionAt: "2026-02-07T09:00:00Z"}
---
apiVersion: budgets.proompteng.ai/v1alpha1
kind: Budget
metadata: {name: b}
spec: {limits: {tokens: "1000", dollars: "5", cpu: "2", memory: 4Gi, gpu: "1"}}
status: {phase: Active, used: {tokens: "0", dollars: "0", cpu: "0", memory: "0", gpu: "0"}}
---
apiVersion: security.proompteng.ai/v1alpha1
kind: SecretBinding
metadata: {name: sb}
spec: {subjects: [{kind: Agent, name: a}], allowedSecrets: [token]}
status: {phase: Ready}
---
apiVersion: signals.proompteng.ai/v1alpha1
kind: Signal
metadata: {name: s}
spec: {channel: c, description: d, payload: {any: [1]}}
status: {phase: Active, lastDeliveryAt: "2026-02-07T09:00:00Z"}
---
apiVersion: signals.proompteng.ai/v1alpha1
kind: SignalDelivery
metadata: {name: sd}
spec: {signalRef: {name: s}, deliveryId: d, payload: {any: {deep: true}}}
status: {phase: Delivered, deliveredAt: "2026-02-07T09:00:00Z"}
---
apiVersion: schedules.proompteng.ai/v1alpha1
kind: Schedule
metadata: {name: sc}
spec:
  cron: "0 3 * * 1"
  timezone: UTC
  targetRef: {apiVersion: agents.proompteng.ai/v1alpha1, kind: AgentRun, name: r, namespace: default}
status: {phase: Active, lastRunTime: "2026-02-07T09:00:00Z"}
---
apiVersion: artifacts.proompteng.ai/v1alpha1
kind: Artifact
metadata: {name: ar}
spec: {storageRef: {name: s3}, lifecycle: {ttlDays: 14}}
status: {phase: Ready, uri: "storage://s3", checksum: "sha256:0"}
---
apiVersion: workspaces.proompteng.ai/v1alpha1
kind: Workspace
metadata: {name: w}
spec: {storageClassName: fast, size: 1Gi, accessModes: [ReadWriteOnce], ttlSeconds: 60}
status: {phase: Expired, volumeName: pv}
"""
