import { useState } from "react";

import { ApiProblem, get, keepToken, post } from "../api";
import { commandLine } from "../instance";
import { FieldError } from "../parts/parameter_fields";
import { Command } from "../parts/notice";

/** Why the user must sign in: the page says what happened before it asks for anything. */
export type Lost = "link" | "session" | "none";

const TITLES: Record<Lost, string> = {
  link: "This link is no longer valid",
  session: "Your session has ended",
  none: "Sign in",
};

const REASONS: Record<Lost, string> = {
  link: "The token in the address is not the token of this control plane. A new token is made when the data directory is new or its page-token file was deleted.",
  session:
    "A session lasts 30 days, and ends when the page token changes. What you looked at is still there after you sign in.",
  none: "This browser has no session with this control plane.",
};

/** By what the server said: it names an ended session, or an unknown token. */
export function lostBy(detail: string): Lost {
  return detail.includes("session") ? "session" : "none";
}

export function SignIn({ lost, onDone }: { lost: Lost; onDone: () => void }) {
  const [token, setToken] = useState("");
  const [wrong, setWrong] = useState("");
  const enter = async () => {
    const typed = token.trim();
    if (!typed) return setWrong("Enter a token.");
    setWrong("");
    let isLaptop = true;
    try {
      // A laptop has sessions; elsewhere the token itself is sent with each request.
      await post("/v1/session", { token: typed });
      onDone();
      return;
    } catch (error) {
      const status = error instanceof ApiProblem ? error.status : 0;
      if (status !== 404 && status !== 401)
        return setWrong(error instanceof Error ? error.message : String(error));
      isLaptop = status === 401;
      keepToken(typed);
    }
    try {
      await get("/v1/me");
      onDone();
    } catch (error) {
      const known = error instanceof ApiProblem && error.status === 401;
      setWrong(
        !known
          ? (error as Error).message
          : isLaptop
            ? `This token is wrong. Copy the current one from the link that ${commandLine("jangar status")} prints.`
            : "The Kubernetes API does not accept this token. It may have expired.",
      );
    }
  };
  return (
    <main className="page sign-in">
      <h1>{TITLES[lost]}</h1>
      <p>{REASONS[lost]}</p>
      <p>
        On this machine, open the link that <Command>jangar status</Command> prints. If the control plane is
        not running, <Command>jangar up --detach</Command> starts it and prints the link.
      </p>
      <p>On a cluster, paste a token of yours:</p>
      <Command>kubectl create token default</Command>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void enter();
        }}
      >
        <div className="field">
          <label htmlFor="token">Token</label>
          <input
            id="token"
            type="password"
            autoComplete="off"
            value={token}
            aria-invalid={wrong ? true : undefined}
            aria-describedby={wrong ? "wrong-token" : undefined}
            onChange={(event) => setToken(event.target.value)}
            autoFocus
          />
          <FieldError id="wrong-token" error={wrong} />
        </div>
        <button type="submit" className="primary">
          Sign in
        </button>
      </form>
    </main>
  );
}
