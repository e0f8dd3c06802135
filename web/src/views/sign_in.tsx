import { useState } from "react";

import { get, keepToken, post } from "../api";
import { ProblemNotice } from "../parts/notice";

export function SignIn({ onDone }: { onDone: () => void }) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<Error | null>(null);
  const enter = async () => {
    setProblem(null);
    try {
      // A laptop has sessions; elsewhere the token itself is sent with each request.
      await post("/v1/session", { token: token.trim() });
      onDone();
      return;
    } catch {
      keepToken(token.trim());
    }
    try {
      await get("/v1/me");
      onDone();
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <main className="page sign-in">
      <h1>Who are you?</h1>
      <p>
        On a laptop <code>jangar status</code> prints an address that opens this page. On a cluster, paste a token of
        yours:
      </p>
      <pre>kubectl create token default</pre>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void enter();
        }}
      >
        <label className="field">
          <span>Token</span>
          <input
            type="password"
            autoComplete="off"
            value={token}
            onChange={(event) => setToken(event.target.value)}
            autoFocus
            required
          />
        </label>
        {problem && <ProblemNotice problem={problem} />}
        <button type="submit" className="primary">
          Enter
        </button>
      </form>
    </main>
  );
}
