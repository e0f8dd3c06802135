/** What is wrong with the values of a form, in a sentence next to each field. Pure. */

import type { Parameter } from "./types";

const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const LONGEST_NAME = 253;

/** By path of the field (`name`, `parameters.region`), as the server names them too. */
export type FieldErrors = Record<string, string>;

export function isRequired(parameter: Parameter): boolean {
  return Boolean(parameter.required && parameter.default === undefined);
}

export function checked(
  parameters: readonly Parameter[],
  values: Record<string, string>,
  name: string,
): FieldErrors {
  const found: FieldErrors = {};
  for (const parameter of parameters) {
    if (isRequired(parameter) && !values[parameter.name]) {
      found[`parameters.${parameter.name}`] = parameter.enum ? "Choose a value." : "Enter a value.";
    }
  }
  const wrong = nameError(name);
  if (wrong) found["name"] = wrong;
  return found;
}

export function nameError(name: string): string {
  if (!name) return "";
  if (name.length > LONGEST_NAME) return `Use at most ${LONGEST_NAME} characters.`;
  if (NAME.test(name)) return "";
  if (/[A-Z]/.test(name)) return "Use lower-case letters only.";
  if (/[^-a-z0-9.]/.test(name)) return "Use only lower-case letters, digits, “-” and “.”.";
  return "Start and end the name with a letter or a digit.";
}

/** What is sent: values that were left empty take the default of the orchestration. */
export function given(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
}
