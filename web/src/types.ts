/** The types of the HTTP API as the page uses them; api_schema.ts is generated from /openapi.json. */

import type { components } from "./api_schema";

type Schemas = components["schemas"];

export type RunPhase = Schemas["Phase"];
export type StepPhase = "Pending" | "Running" | "Retrying" | "Succeeded" | "Failed" | "Skipped" | "Cancelled";
/** A step of an Orchestration, outside of any run, is Defined. */
export type AnyPhase = RunPhase | StepPhase | "Defined";

export const RUN_PHASES: readonly RunPhase[] = [
  "Pending",
  "Running",
  "Cancelling",
  "Succeeded",
  "Failed",
  "Cancelled",
];

/** The API declares these fields as open objects or strings; here is what they hold. */
type Narrow<Base, Fields> = Omit<Base, keyof Fields> & Fields;

export type Run = Narrow<Schemas["Run"], { phase: RunPhase }>;
export type RunPage = Narrow<Schemas["RunPage"], { items: Run[] }>;
export type Attempt = Narrow<Schemas["Attempt"], { phase: StepPhase }>;
export type Step = Narrow<Schemas["Step"], { phase: StepPhase; attempts: Attempt[] }>;
export type RunDetail = Narrow<
  Schemas["RunDetail"],
  { phase: RunPhase; retention: Retention | null; steps: Step[] }
>;
export type Expiring = Narrow<Schemas["Expiring"], { phase: RunPhase; retention: Retention }>;
export type Bar = Narrow<Schemas["Bar"], { phase: StepPhase }>;
export type StepLog = Schemas["Log"];
export type StepShown = Narrow<Schemas["StepShown"], { object: KubeObject | null }>;
export type KubeEvent = Schemas["KubeEvent"];
export type Column = Schemas["KindColumn"];
export type KindShown = Schemas["KindShown"];
export type KindDetail = Narrow<Schemas["KindDetail"], { specSchema: Schema; statusSchema: Schema }>;
export type Orchestration = Narrow<Schemas["Orchestration"], { parameters: Parameter[] }>;
export type OrchestrationDetail = Narrow<Schemas["OrchestrationDetail"], { parameters: Parameter[] }>;
export type ControlPlane = Schemas["ControlPlane"];
/** A process that shares the controllers' work. */
export type Holder = Schemas["Controller"];
export type Me = Schemas["Me"];

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
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    creationTimestamp: string;
    labels?: Record<string, string>;
  };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
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

export interface Parameter {
  name: string;
  description?: string;
  default?: string;
  enum?: string[];
  required?: boolean;
}
