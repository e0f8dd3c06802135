import { useEffect, useRef, useState } from "react";
import type { ReactNode } from "react";

import { ApiProblem } from "../api";
import type { FieldErrors } from "../form_checks";
import { ProblemNotice } from "./notice";

interface Props {
  title: string;
  yes: string;
  danger?: boolean;
  /** Focus the first field; without fields, the button. */
  hasFields?: boolean;
  /** What is wrong with the fields before anything is sent. */
  check?: () => FieldErrors;
  /** Told what is wrong with which field, by the check or by the server. */
  onErrors?: (errors: FieldErrors) => void;
  children: ReactNode;
  onYes: () => Promise<unknown>;
  onClose: () => void;
}

export function Confirm({ title, yes, danger, hasFields, check, onErrors, children, onYes, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Error | null>(null);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const show = (errors: FieldErrors) => {
    onErrors?.(errors);
    // After the errors are drawn: focus the first invalid field.
    setTimeout(() => dialog.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
  };
  const act = async () => {
    setProblem(null);
    const wrong = check?.() ?? {};
    show(wrong);
    if (Object.keys(wrong).length) return;
    setBusy(true);
    try {
      await onYes();
      onClose();
    } catch (error) {
      const fields = onErrors && error instanceof ApiProblem ? error.fields : {};
      if (Object.keys(fields).length) show(fields);
      else setProblem(error as Error);
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="confirm-title">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void act();
        }}
      >
        <h2 id="confirm-title">{title}</h2>
        {children}
        {problem && <ProblemNotice problem={problem} />}
        <div className="buttons">
          <button type="button" onClick={onClose}>
            Back
          </button>
          <button
            type="submit"
            className={danger ? "danger" : "primary"}
            disabled={isBusy}
            autoFocus={!hasFields}
          >
            {isBusy ? "…" : yes}
          </button>
        </div>
      </form>
    </dialog>
  );
}
