// @vitest-environment jsdom
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";

import { ApiProblem } from "../src/api";
import { Confirm } from "../src/parts/confirm";
import { Facts } from "../src/parts/facts";
import { PhaseBadge, Progress, SIGNS } from "../src/parts/phase";
import { StepList } from "../src/parts/step_list";
import { Tabs } from "../src/parts/tabs";
import type { AnyPhase, RunDetail, Step } from "../src/types";

const NOW = Date.parse("2026-01-01T12:00:00Z");

beforeAll(() => {
  // jsdom has no modal dialogs.
  HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
});
afterEach(cleanup);

function step(name: string, more: Partial<Step> = {}): Step {
  return {
    name,
    kind: "ToolRun",
    phase: "Succeeded",
    reason: "Succeeded",
    sentence: "",
    attempt: 1,
    attempts: [],
    child: null,
    dependsOn: [],
    causes: [],
    outputs: {},
    exitCode: 0,
    startedAt: null,
    finishedAt: null,
    durationSeconds: null,
    failureIgnored: false,
    ...more,
  };
}

describe("PhaseBadge", () => {
  it.each(Object.keys(SIGNS) as AnyPhase[])("shows %s by a word, not by its color alone", (phase) => {
    render(<PhaseBadge phase={phase} />);
    expect(screen.getByText(phase)).toBeTruthy();
  });

  it("shows the reason if it differs from the phase", () => {
    render(<PhaseBadge phase="Failed" reason="StepTimedOut" />);
    expect(screen.getByTitle("StepTimedOut")).toBeTruthy();
  });
});

describe("Progress", () => {
  it("announces the number of ended steps to screen readers", () => {
    render(<Progress counts={{ succeeded: 2, failed: 1 }} total={4} ended={3} />);
    const bar = screen.getByRole("progressbar");
    expect(bar.getAttribute("aria-valuenow")).toBe("3");
    expect(bar.getAttribute("aria-label")).toContain("3 of 4 steps");
  });
});

describe("Tabs", () => {
  it("moves with the arrow keys and wraps around", async () => {
    const onChoose = vi.fn();
    render(<Tabs label="Views" tabs={["graph", "list"]} chosen="list" onChoose={onChoose} />);
    screen.getByRole("tab", { name: "list" }).focus();
    await userEvent.keyboard("{ArrowRight}");
    expect(onChoose).toHaveBeenCalledWith("graph");
  });
});

describe("StepList", () => {
  const rows = [
    { path: "build", depth: 0, run: {} as RunDetail, step: step("build") },
    {
      path: "agent",
      depth: 0,
      run: {} as RunDetail,
      step: step("agent", { kind: "AgentRun", sentence: "all 3 tool calls failed" }),
    },
  ];
  const props = {
    now: NOW,
    chosen: null,
    opened: new Set<string>(),
    sort: "order" as const,
    isDown: false,
    onOpen: () => undefined,
  };

  it("shows the reason of a step's phase", () => {
    render(<StepList {...props} placed={rows} onChoose={() => undefined} />);
    expect(screen.getByText("all 3 tool calls failed")).toBeTruthy();
  });

  it("selects a step on click, and moves between steps with the arrow keys", async () => {
    const onChoose = vi.fn();
    render(<StepList {...props} placed={rows} onChoose={onChoose} />);
    await userEvent.click(screen.getByText("build"));
    expect(onChoose).toHaveBeenLastCalledWith("build");
    await userEvent.keyboard("{ArrowDown}{Enter}");
    expect(onChoose).toHaveBeenLastCalledWith("agent");
  });

  it("shows a message when no step matches", () => {
    render(<StepList {...props} placed={[]} onChoose={() => undefined} />);
    expect(screen.getByText("No step matches.")).toBeTruthy();
  });
});

describe("Confirm", () => {
  const open = (onYes: () => Promise<unknown>, onClose = vi.fn()) => {
    render(
      <Confirm title="Cancel nightly-1?" yes="Cancel the run" danger onYes={onYes} onClose={onClose}>
        <p>These steps are stopped:</p>
      </Confirm>,
    );
    return onClose;
  };

  it("does nothing until it is confirmed, and closes afterwards", async () => {
    const onYes = vi.fn(() => Promise.resolve());
    const onClose = open(onYes);
    expect(onYes).not.toHaveBeenCalled();
    await userEvent.click(screen.getByRole("button", { name: "Cancel the run" }));
    await waitFor(() => expect(onClose).toHaveBeenCalledOnce());
    expect(onYes).toHaveBeenCalledOnce();
  });

  it("stays open with the problem and its fix", async () => {
    const problem = new ApiProblem(409, "The run has ended.", "Start a new run.", []);
    const onClose = open(() => Promise.reject(problem));
    await userEvent.click(screen.getByRole("button", { name: "Cancel the run" }));
    expect(await screen.findByText(/The run has ended\./)).toBeTruthy();
    expect(onClose).not.toHaveBeenCalled();
  });
});

describe("Facts", () => {
  it("shows an empty value as empty", () => {
    render(<Facts title="Outputs" values={{ result: "" }} />);
    expect(screen.getByText("(empty)")).toBeTruthy();
  });
});
