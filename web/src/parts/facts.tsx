import { CopyButton } from "./notice";

/** Names and values; long values are folded in. */
export function Facts({
  title,
  values,
  none,
}: {
  title: string;
  values: Record<string, string>;
  none?: string;
}) {
  const entries = Object.entries(values);
  if (!entries.length && none === undefined) return null;
  return (
    <section className="facts-list">
      <h3>{title}</h3>
      {!entries.length && <p className="quiet">{none}</p>}
      <dl>
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {value === "" ? <span className="quiet">(empty)</span> : value}
              {value.length > 12 && <CopyButton text={value} label={`Copy ${name}`} />}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
