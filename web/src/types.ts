/** What the API answers, as far as the page uses it; /openapi.json has all of it. */

export type RunPhase = "Pending" | "Running" | "Cancelling" | "Succeeded" | "Failed" | "Cancelled";
export type StepPhase = "Pending" | "Running" | "Retrying" | "Succeeded" | "Failed" | "Skipped" | "Cancelled";
/** A step of a definition that nobody has run is only defined. */
export type AnyPhase = RunPhase | StepPhase | "Defined";

export const RUN_PHASES: readonly RunPhase[] = ["Pending", "Running", "Cancelling", "Succeeded", "Failed", "Cancelled"];

export interface Run {
  namespace: string;
  name: string;
  uid: string;
  orchestration: string | null;
  phase: RunPhase;
  reason: string;
  message: string;
  stepsEnded: number;
  stepsTotal: number;
  counts: Record<string, number>;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  suspended: boolean;
  cancelRequested: boolean;
  parent: string | null;
  retryOf: string | null;
  expiresAt: string | null;
  createdBy: string | null;
  live: boolean;
}

export interface RunPage {
  items: Run[];
  next: string | null;
  position: string;
}

export interface Attempt {
  attempt: number;
  phase: StepPhase;
  reason: string;
  message: string;
  startedAt: string | null;
  finishedAt: string | null;
  exitCode: number | null;
}

export interface Step {
  name: string;
  kind: string;
  phase: StepPhase;
  reason: string;
  sentence: string;
  attempt: number;
  attempts: Attempt[];
  child: string | null;
  dependsOn: string[];
  causes: string[];
  outputs: Record<string, string>;
  exitCode: number | null;
  startedAt: string | null;
  finishedAt: string | null;
  failureIgnored: boolean;
}

export interface RunDetail extends Run {
  parameters: Record<string, string>;
  labels: Record<string, string>;
  outputs: Record<string, string>;
  retention: Retention | null;
  /** Live runs that retry this one, the oldest first. */
  retriedBy: string[];
  cancelRequestedAt: string | null;
  deletionRequested: boolean;
  resourceVersion: string;
  mode: string | null;
  conditions: { type: string; status: string; reason: string; message: string }[];
  steps: Step[];
  leftBehind: { kind: string; name: string; endedAt: string | null }[];
}

export interface Retention {
  runExpiresAt?: string;
  jobExpiresAt?: string;
  runRetentionSeconds?: number;
  jobTtlSeconds?: number;
  runSource?: string;
  jobSource?: string;
  /** Whether the record outlives the object. */
  history?: string;
}

export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace: string; uid: string; creationTimestamp: string; labels?: Record<string, string> };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

/** One step closely. */
export interface StepShown {
  step: string;
  attempt: number;
  written: Record<string, unknown>;
  inputs: Record<string, string>;
  object: KubeObject | null;
  missing: string;
  events: KubeEvent[];
}

export interface Column {
  name: string;
  path: string;
  type: string;
  description: string;
  priority: number;
}

export interface KindShown {
  name: string;
  plural: string;
  group: string;
  apiVersion: string;
  shortNames: string[];
  description: string;
  /** Whether nothing acts on objects of this kind yet. */
  notBuilt: boolean;
  /** What to do as long as it is not built. */
  instead: string;
  columns: Column[];
}

export interface Schema {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  allOf?: Schema[];
  $ref?: string;
  $defs?: Record<string, Schema>;
}

export interface KindDetail extends KindShown {
  specSchema: Schema;
  statusSchema: Schema;
}

export interface KubeEvent {
  type: string;
  reason: string;
  message: string;
  count: number;
  lastAt: string;
}

export interface Expiring {
  namespace: string;
  name: string;
  phase: RunPhase;
  retention: Retention;
}

export interface Bar {
  step: string;
  attempt: number;
  phase: StepPhase;
  reason: string;
  startedAt: string;
  finishedAt: string | null;
}

export interface StepLog {
  lines: string[];
  missing: string;
  note: string;
}

export interface Orchestration {
  namespace: string;
  name: string;
  description: string;
  phase: string;
  message: string;
  steps: number;
  parameters: Parameter[];
}

export interface OrchestrationDetail extends Orchestration {
  graph: { nodes: { name: string; kind: string; phase: StepPhase }[]; edges: { source: string; target: string }[] } | null;
}

export interface Parameter {
  name: string;
  description?: string;
  default?: string;
  enum?: string[];
  required?: boolean;
}

export interface ControlPlane {
  version: string;
  namespaces: string[] | null;
  parts: { name: string; well: boolean; problems: string[] }[];
  history: string;
  watchers: number;
  controllers: Holder[];
  crds: { kind: string; group: string; served: boolean }[];
  runtimes: { name: string; available: boolean; message: string }[];
  auditWaiting: number;
}

/** A process that shares the controllers' work. */
export interface Holder {
  name: string;
  version: string;
  alive: boolean;
  shards: number;
  renewedAt: string;
}

export interface Me {
  name: string;
  namespace: string;
  laptop: boolean;
  /** How the command line is called for this instance. */
  commandPrefix: string;
  /** How long history keeps what it stores of a run; null for ever. Unknown on a cluster. */
  history: { recordSeconds: number | null; logSeconds: number | null } | null;
}
