import { useState } from "react";

import { post } from "../api";
import { checked, given } from "../form_checks";
import type { FieldErrors } from "../form_checks";
import { navigate } from "../router";
import type { Orchestration, Run } from "../types";
import { Confirm } from "./confirm";
import { runHref } from "./link";
import { NameField, ParameterFields } from "./parameter_fields";

/** A form made from the parameters that the orchestration declares. */
export function StartDialog({
  orchestration,
  onClose,
}: {
  orchestration: Orchestration;
  onClose: () => void;
}) {
  const [values, setValues] = useState<Record<string, string>>({});
  const [name, setName] = useState("");
  const [errors, setErrors] = useState<FieldErrors>({});
  const start = async () => {
    const made = await post<{ run: Run }>(
      `/v1/namespaces/${encodeURIComponent(orchestration.namespace)}/runs`,
      {
        orchestration: orchestration.name,
        parameters: given(values),
        ...(name.trim() ? { name: name.trim() } : {}),
      },
    );
    navigate(runHref(made.run.namespace, made.run.name));
  };
  return (
    <Confirm
      title={`Run ${orchestration.name}`}
      yes="Start"
      hasFields
      check={() => checked(orchestration.parameters, values, name.trim())}
      onErrors={setErrors}
      onYes={start}
      onClose={onClose}
    >
      {orchestration.parameters.length === 0 && <p>This orchestration has no parameters.</p>}
      <ParameterFields
        parameters={orchestration.parameters}
        values={values}
        errors={errors}
        onChange={setValues}
      />
      <NameField
        name={name}
        error={errors["name"] ?? ""}
        hint={`${orchestration.name}-…`}
        onChange={setName}
      />
    </Confirm>
  );
}
