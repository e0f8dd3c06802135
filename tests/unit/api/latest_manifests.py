"""Small manifests in the latest legacy format (snapshot H), where it differs from February.

Written by hand for these tests; the names of fields are the compatibility promise, the values are ours.
"""

LATEST = """
apiVersion: agents.proompteng.ai/v1alpha1
kind: Agent
metadata: {name: a}
spec:
  providerRef: {name: p}
  security: {allowedImplementationSourceProviders: [github]}
  defaults: {systemPromptRef: {kind: ConfigMap, name: prompts, key: a}}
---
apiVersion: agents.proompteng.ai/v1alpha1
kind: AgentProvider
metadata: {name: p}
spec:
  binary: agent
  secretEnv: [{name: KEY, secretName: key, key: token, optional: true}]
  workload:
    image: busybox:1.37
    resources: {requests: {cpu: 100m}, limits: {memory: 1Gi}}
    serviceAccountName: runner
    serviceAccountToken: {audience: mcp, expirationSeconds: 600, mountPath: /var/run/token}
  health: {capacityFailurePolicy: block}
  adapter: {type: codex-app-server, codex: {model: x, deep: {er: [1]}}}
---
apiVersion: agents.proompteng.ai/v1alpha1
kind: AgentRun
metadata: {name: r}
spec:
  agentRef: {name: a}
  implementation: {inline: {text: Do it.}}
  goal: {objective: All green., tokenBudget: 100000}
  runtime: {type: workflow, config: {serviceAccountName: runner, resources: {limits: {cpu: "1"}}}}
  workflow:
    steps:
      - name: again
        loop:
          maxIterations: 8
          condition:
            type: cel
            expression: iteration.last.control.continue == true
            source: {type: file, path: /workspace/control.json, onMissing: stop, onInvalid: fail}
          state: {required: true, volumeNames: [data]}
status:
  phase: Template
  reason: Template
  message: copied by schedules
  specHash: abc
  runner: {status: ok, nested: {any: 1}}
  workflow:
    steps:
      - name: again
        loop:
          currentIteration: 2
          completedIterations: 1
          maxIterations: 8
          stopReason: LoopConditionFalse
          retainedIterations: 1
          prunedIterations: 0
          lastControl: {continue: true}
          iterations:
            - index: 1
              phase: Succeeded
              attempts: 1
              startedAt: "2026-08-22T09:00:00Z"
              finishedAt: "2026-08-22T09:01:00Z"
              message: done
              jobRef: {name: j, namespace: default, uid: u}
---
apiVersion: orchestration.proompteng.ai/v1alpha1
kind: Orchestration
metadata: {name: o}
spec:
  steps:
    - name: agent
      kind: AgentRun
      agentRef: {name: a}
      implementation: {text: Do it.}
      vcsRef: {name: v}
      vcsPolicy: {mode: none}
      goal: {objective: All green.}
      policy: {budgetRef: b}
      ttlSecondsAfterFinished: 60
---
apiVersion: approvals.proompteng.ai/v1alpha1
kind: ApprovalPolicy
metadata: {name: ap}
spec: {mode: manual, approvers: [lead], requiredApprovals: 2, timeoutSeconds: 60}
status: {phase: Ready}
---
apiVersion: schedules.proompteng.ai/v1alpha1
kind: Schedule
metadata: {name: sc}
spec: {cron: "0 3 * * 1", suspend: true, targetRef: {kind: OrchestrationRun, name: or}}
status: {phase: Suspended}
---
apiVersion: swarm.proompteng.ai/v1alpha1
kind: Swarm
metadata: {name: sw}
spec:
  owner: {id: o, channel: c}
  mode: lights-out
  domains: [d]
  objectives: [o]
  timezone: UTC
  cadence: {discoverEvery: 1h, planEvery: 1h, implementEvery: 1h, verifyEvery: 1h}
  discovery: {sources: [{name: s, kind: k, url: "https://host"}], minCitations: 2, minConfidence: 0.5}
  delivery:
    deploymentTargets: [t]
    mergePolicy: auto-merge
    repoAllowlist: [example/app]
    requiredChecks: [ci]
    rollout: {strategy: canary, steps: [{setWeight: 10, pause: 5m}], analysisTemplateRef: x}
  execution:
    discover: {enabled: true, every: 1h, targetRef: {kind: AgentRun, name: r, namespace: default}}
    plan: {}
    implement: {}
    verify: {}
  risk: {approvalPolicyRef: ap, budgetRef: b, freezeAfterFailures: 3, freezeDuration: 1h}
  mission:
    ledgerRef: l
    sourceDesign: d
    businessMetric: m
    validationContract: [v]
    valueGates: [g]
    handoffRequiredFields: [f]
  integrations:
    nats:
      url: "nats://host"
      subjectPrefix: s
      channel: c
      personas:
        architect: {humanName: A, workerIdentity: a}
        engineer: {humanName: E, workerIdentity: e}
        deployer: {humanName: D, workerIdentity: d}
status:
  phase: Observed
  activeMissions: 1
  queuedNeeds: 2
  requirements:
    pending: 1
    dispatched: 1
    blocked: 1
    admissionBlocked: 1
    stageClearanceBlocked: 1
    completed: 1
    invalidChannel: 1
    rejected: 1
    duplicates: 1
    paused: true
    pauseReason: R
    pauseMessage: m
    admission: {a: 1}
    stageClearance: {a: 1}
    error: e
  discoveries24h: 1
  missions24h: 1
  autonomousSuccessRate24h: 0.5
  lastDiscoverAt: "2026-08-22T09:00:00Z"
  lastProductionChangeRef: x
  freeze:
    reason: R
    until: "2026-08-22T09:00:00Z"
    consecutiveFailures: 3
    threshold: 3
    enteredAt: "2026-08-22T09:00:00Z"
    durationMs: 1000
    evidence: {a: 1}
  stageStates: {plan: {any: 1}}
"""
