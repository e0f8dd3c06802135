import { useEffect, useState } from "react";

import { CopyButton } from "./notice";

/** An object as people write it. The library is loaded on first use. */
export function YamlText({ value, label }: { value: unknown; label: string }) {
  const [text, setText] = useState<string | null>(null);
  useEffect(() => {
    let ended = false;
    void import("yaml").then(({ stringify }) => {
      if (!ended) setText(stringify(value, { lineWidth: 110, aliasDuplicateObjects: false }));
    });
    return () => void (ended = true);
  }, [value]);
  if (text === null) return <p className="quiet padded">…</p>;
  return (
    <div className="yaml">
      <CopyButton text={text} label={`Copy ${label}`} />
      <pre tabIndex={0} aria-label={label}>
        {text.split("\n").map((line, index) => (
          <YamlLine key={index} line={line} />
        ))}
      </pre>
    </div>
  );
}

function YamlLine({ line }: { line: string }) {
  const match = /^(\s*(?:- )*)([\w./~-]+|"[^"]*"):(.*)$/.exec(line);
  if (!match) return <>{`${line}\n`}</>;
  return (
    <>
      {match[1]}
      <b>{match[2]}</b>:{match[3]}
      {"\n"}
    </>
  );
}
