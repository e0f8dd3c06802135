import { isRequired } from "../form_checks";
import type { FieldErrors } from "../form_checks";
import type { Parameter } from "../types";

const LONG = 60;

interface Props {
  parameters: readonly Parameter[];
  values: Record<string, string>;
  errors: FieldErrors;
  onChange: (values: Record<string, string>) => void;
}

/** An input for each parameter: a list for fixed values, text else; errors stand at their field. */
export function ParameterFields({ parameters, values, errors, onChange }: Props) {
  return parameters.map((item, index) => (
    <Field
      key={item.name}
      parameter={item}
      isFirst={index === 0}
      value={values[item.name]}
      error={errors[`parameters.${item.name}`] ?? ""}
      onChange={(value) => onChange({ ...values, [item.name]: value })}
    />
  ));
}

interface FieldProps {
  parameter: Parameter;
  isFirst: boolean;
  value: string | undefined;
  error: string;
  onChange: (value: string) => void;
}

function Field({ parameter, isFirst, value, error, onChange }: FieldProps) {
  const id = `field-${parameter.name}`;
  const about = parameter.description ? `about-${parameter.name}` : "";
  const wrong = error ? `wrong-${parameter.name}` : "";
  const common = {
    id,
    "aria-describedby": [about, wrong].filter(Boolean).join(" ") || undefined,
    "aria-invalid": error ? true : undefined,
    "aria-required": isRequired(parameter) || undefined,
    autoFocus: isFirst,
  };
  const isLong =
    (value ?? parameter.default ?? "").length > LONG || (value ?? parameter.default ?? "").includes("\n");
  return (
    <div className="field">
      <label htmlFor={id}>
        {parameter.name}
        {isRequired(parameter) && <span className="under"> required</span>}
      </label>
      {parameter.enum ? (
        <select
          {...common}
          value={value ?? parameter.default ?? ""}
          onChange={(event) => onChange(event.target.value)}
        >
          {!parameter.default && <option value="">{isRequired(parameter) ? "Choose…" : "(no value)"}</option>}
          {parameter.enum.map((item) => (
            <option key={item} value={item}>
              {item}
              {item === parameter.default ? " (default)" : ""}
            </option>
          ))}
        </select>
      ) : isLong ? (
        <textarea
          {...common}
          rows={4}
          value={value ?? ""}
          placeholder={parameter.default ?? ""}
          onChange={(event) => onChange(event.target.value)}
        />
      ) : (
        <input
          {...common}
          value={value ?? ""}
          placeholder={parameter.default ?? ""}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      <FieldError id={wrong} error={error} />
      {parameter.description && (
        <span className="under" id={about}>
          {parameter.description}
        </span>
      )}
      {!parameter.enum && parameter.default !== undefined && !isLong && (
        <span className="under">Default: {parameter.default === "" ? "empty" : parameter.default}</span>
      )}
    </div>
  );
}

export function FieldError({ id, error }: { id: string; error: string }) {
  if (!error) return null;
  return (
    <span className="field-error" id={id} role="alert">
      <span aria-hidden="true">✕ </span>
      {error}
    </span>
  );
}

export function NameField({
  name,
  error,
  hint,
  onChange,
}: {
  name: string;
  error: string;
  hint: string;
  onChange: (name: string) => void;
}) {
  return (
    <div className="field">
      <label htmlFor="field-run-name">Name of the run</label>
      <input
        id="field-run-name"
        value={name}
        placeholder={hint}
        aria-invalid={error ? true : undefined}
        aria-describedby={error ? "wrong-run-name" : undefined}
        onChange={(event) => onChange(event.target.value)}
      />
      <FieldError id="wrong-run-name" error={error} />
      <span className="under">Leave it empty for a generated name.</span>
    </div>
  );
}
