import { StrictMode, useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";

import { get, onSignedOut } from "./api";
import { meet } from "./instance";
import { useKeys } from "./keys";
import { ThemeIcon } from "./parts/icons";
import { Link } from "./parts/link";
import { Waiting } from "./parts/notice";
import { navigate, useAddress } from "./router";
import type { Me } from "./types";
import { KindsView } from "./views/kinds";
import { OrchestrationView } from "./views/orchestration";
import { OrchestrationsView } from "./views/orchestrations";
import { ControlPlaneView } from "./views/control_plane";
import { RunView } from "./views/run";
import { RunsView } from "./views/runs";
import { lostBy, SignIn } from "./views/sign_in";
import type { Lost } from "./views/sign_in";
import "./style.css";

const THEME = "jangar-theme";
const AGAIN = 1000;
const KEYS: [string, string][] = [
  ["/", "search runs, or find a step"],
  ["j  k", "next and previous"],
  ["Enter", "open the run"],
  ["x", "select the run, to cancel several"],
  ["1 … 6", "graph, timeline, list, about, events, YAML"],
  ["c", "cancel"],
  ["s", "suspend, resume"],
  ["r", "retry, run again, start"],
  ["Esc", "close the step"],
  ["u", "up: back to all of them"],
  ["g r", "go to runs"],
  ["g o", "go to orchestrations"],
  ["g k", "go to kinds"],
  ["g c", "go to the control plane"],
  ["t", "light or dark"],
  ["?", "these keys"],
];
const VIEWS: [string, string][] = [
  ["/", "Runs"],
  ["/orchestrations", "Orchestrations"],
  ["/kinds", "Kinds"],
  ["/control-plane", "Control plane"],
];
/** The server marks the page when the token in its address was not accepted. */
const WAS_REFUSED = document.documentElement.dataset["refused"] === "token";

function turnTheme(): void {
  const root = document.documentElement;
  const chosen =
    root.dataset["theme"] ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset["theme"] = chosen === "dark" ? "light" : "dark";
  localStorage.setItem(THEME, root.dataset["theme"]);
}

function View({ pathname }: { pathname: string }) {
  const [, first, second, third, fourth] = pathname.split("/").map(decodeURIComponent);
  if (first === "runs" && second && third)
    return <RunView key={`${second}/${third}`} namespace={second} name={third} />;
  if (first === "orchestrations" && second && third) {
    return <OrchestrationView key={`${second}/${third}`} namespace={second} name={third} />;
  }
  if (first === "orchestrations") return <OrchestrationsView />;
  if (first === "kinds") {
    return (
      <KindsView
        {...(second ? { kind: second } : {})}
        {...(third && fourth ? { namespace: third, name: fourth } : {})}
      />
    );
  }
  if (first === "control-plane") return <ControlPlaneView />;
  return <RunsView />;
}

function App() {
  const { pathname } = useAddress();
  const [isKnown, setKnown] = useState<boolean | null>(WAS_REFUSED ? false : null);
  const [lost, setLost] = useState<Lost>(WAS_REFUSED ? "link" : "none");
  const [me, setMe] = useState<Me | null>(null);
  const [isHelping, setHelping] = useState(false);
  const [since] = useState(() => Date.now());
  useEffect(
    () =>
      onSignedOut((detail) => {
        setMe(null);
        setKnown((last) => {
          // A wrong token in the form is the form's to tell.
          if (last !== false) setLost(last ? "session" : lostBy(detail));
          return false;
        });
      }),
    [],
  );
  useEffect(() => {
    if (isKnown === false || me) return;
    let timer = 0;
    let ended = false;
    const ask = () => {
      get<Me>("/v1/me").then(
        (found) => {
          if (ended) return;
          meet(found);
          setMe(found);
          setKnown(true);
        },
        (error: { status: number }) => {
          if (!ended && error.status !== 401) timer = window.setTimeout(ask, AGAIN);
        },
      );
    };
    ask();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [isKnown, me]);
  useKeys({
    "?": () => setHelping(true),
    t: turnTheme,
    "g r": () => navigate("/"),
    "g o": () => navigate("/orchestrations"),
    "g k": () => navigate("/kinds"),
    "g c": () => navigate("/control-plane"),
  });
  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="top">
        <Link className="brand" to="/">
          Jangar
        </Link>
        <nav aria-label="Views">
          {VIEWS.map(([to, words]) => (
            <Link
              key={to}
              to={to}
              aria-current={
                (to === "/" ? pathname === "/" || pathname.startsWith("/runs") : pathname.startsWith(to))
                  ? "page"
                  : undefined
              }
            >
              {words}
            </Link>
          ))}
        </nav>
        <span className="spring" />
        {me && !me.laptop && <span className="who">{me.name}</span>}
        <button
          type="button"
          className="plain"
          onClick={turnTheme}
          aria-label="Light or dark"
          title="Light or dark (t)"
        >
          <ThemeIcon />
        </button>
        <button
          type="button"
          className="plain keys-button"
          onClick={() => setHelping(true)}
          aria-label="Keys"
          title="Keys (?)"
        >
          ?
        </button>
      </header>
      <div id="main" tabIndex={-1}>
        {isKnown === false && <SignIn lost={lost} onDone={() => setKnown(true)} />}
        {isKnown === null && (
          <main className="page">
            <Waiting what="Connecting to the control plane" since={since} rows={8} />
          </main>
        )}
        {isKnown && <View pathname={pathname} />}
      </div>
      {isHelping && <Help onClose={() => setHelping(false)} />}
    </>
  );
}

function Help({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} className="help" onClose={onClose} aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <dl>
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog" className="buttons">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

// The token leaves the address: it belongs in no bookmark and no screenshot.
if (WAS_REFUSED) history.replaceState(null, "", location.pathname);
const kept = localStorage.getItem(THEME);
if (kept) document.documentElement.dataset["theme"] = kept;
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
