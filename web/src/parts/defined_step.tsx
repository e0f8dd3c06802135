import { useAnswer } from "../live";
import { dependents } from "../steps";
import type { KubeObject, Step } from "../types";
import { ProblemNotice } from "./notice";
import { SidePanel } from "./side_panel";
import { StepLinks } from "./step_panel";
import { YamlText } from "./yaml_text";

interface Props {
  namespace: string;
  orchestration: string;
  step: Step;
  steps: readonly Step[];
  onChoose: (name: string) => void;
  onClose: () => void;
}

/** A step of a definition: what it depends on, and how it is written. */
export function DefinedStep({ namespace, orchestration, step, steps, onChoose, onClose }: Props) {
  const path = `/v1/namespaces/${encodeURIComponent(namespace)}/kinds/orchestrations/${encodeURIComponent(orchestration)}`;
  const { found, problem } = useAnswer<{ object: KubeObject }>(path);
  const written = (found?.object.spec?.["steps"] as { name?: string }[] | undefined)?.find(
    (item) => item.name === step.name,
  );
  return (
    <SidePanel label={`Step ${step.name}`}>
      <header>
        <div className="titles">
          <h2>{step.name}</h2>
          <span className="under">{step.kind}</span>
        </div>
        <button
          type="button"
          className="plain"
          onClick={onClose}
          aria-label="Close the step"
          title="Close (Esc)"
        >
          ×
        </button>
      </header>
      <div className="why">
        <p>{step.sentence}</p>
        <p className="under needs">
          <StepLinks words="needs" names={step.dependsOn} before="" onChoose={onChoose} />
          <StepLinks
            words="needed by"
            names={dependents(steps).get(step.name) ?? []}
            before=""
            onChoose={onChoose}
          />
        </p>
      </div>
      <div className="body">
        {problem && <ProblemNotice problem={problem} />}
        {written && <YamlText value={written} label={`step ${step.name}`} />}
      </div>
    </SidePanel>
  );
}
