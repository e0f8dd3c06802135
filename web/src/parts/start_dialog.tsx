import { useState } from "react";

import { post } from "../api";
import { navigate } from "../router";
import type { Orchestration, Parameter, Run } from "../types";
import { Confirm } from "./confirm";
import { runHref } from "./link";

/** A form made from the parameters that the orchestration declares; what is left empty takes its default. */
export function StartDialog({ orchestration, onClose }: { orchestration: Orchestration; onClose: () => void }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const [name, setName] = useState("");
  const start = async () => {
    const parameters = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
    const made = await post<{ run: Run }>(`/v1/namespaces/${encodeURIComponent(orchestration.namespace)}/runs`, {
      orchestration: orchestration.name,
      parameters,
      ...(name.trim() ? { name: name.trim() } : {}),
    });
    navigate(runHref(made.run.namespace, made.run.name));
  };
  const set = (key: string) => (value: string) => setValues({ ...values, [key]: value });
  return (
    <Confirm
      title={`Run ${orchestration.name}`}
      yes="Start"
      hasFields={orchestration.parameters.length > 0}
      onYes={start}
      onClose={onClose}
    >
      {orchestration.parameters.length === 0 && <p>It takes no parameters.</p>}
      {orchestration.parameters.map((each, index) => (
        <Field key={each.name} parameter={each} isFirst={index === 0} value={values[each.name]} onChange={set(each.name)} />
      ))}
      <label className="field">
        <span>Name of the run</span>
        <input value={name} placeholder={`${orchestration.name}-…`} onChange={(event) => setName(event.target.value)} />
      </label>
    </Confirm>
  );
}

interface FieldProps {
  parameter: Parameter;
  isFirst: boolean;
  value: string | undefined;
  onChange: (value: string) => void;
}

function Field({ parameter, isFirst, value, onChange }: FieldProps) {
  const isRequired = Boolean(parameter.required && parameter.default === undefined);
  const about = parameter.description ? `about-${parameter.name}` : undefined;
  return (
    <div className="field">
      <label htmlFor={`field-${parameter.name}`}>
        {parameter.name}
        {isRequired && <span className="bad"> required</span>}
      </label>
      {parameter.enum ? (
        <select
          id={`field-${parameter.name}`}
          aria-describedby={about}
          autoFocus={isFirst}
          value={value ?? parameter.default ?? ""}
          required={isRequired}
          onChange={(event) => onChange(event.target.value)}
        >
          {!parameter.default && <option value="" />}
          {parameter.enum.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      ) : (
        <input
          id={`field-${parameter.name}`}
          aria-describedby={about}
          autoFocus={isFirst}
          value={value ?? ""}
          placeholder={parameter.default ?? ""}
          required={isRequired}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {parameter.description && (
        <span className="under" id={about}>
          {parameter.description}
        </span>
      )}
    </div>
  );
}
