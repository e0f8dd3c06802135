import { useEffect, useRef, useState } from "react";
import type { ReactNode } from "react";

import { ProblemNotice } from "./notice";

interface Props {
  title: string;
  yes: string;
  danger?: boolean;
  /** The first field is where somebody begins; else the button is. */
  hasFields?: boolean;
  children: ReactNode;
  onYes: () => Promise<unknown>;
  onClose: () => void;
}

export function Confirm({ title, yes, danger, hasFields, children, onYes, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Error | null>(null);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const act = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await onYes();
      onClose();
    } catch (error) {
      setProblem(error as Error);
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="confirm-title">
      <form
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
          <button type="submit" className={danger ? "danger" : "primary"} disabled={isBusy} autoFocus={!hasFields}>
            {isBusy ? "…" : yes}
          </button>
        </div>
      </form>
    </dialog>
  );
}
