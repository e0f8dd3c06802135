import { useEffect, useState } from "react";

import { columnsOf, shownValue, valueAt } from "../columns";
import { age, clock } from "../format";
import { useAnswer, useNow } from "../live";
import { EventList } from "../parts/event_list";
import { Link, orchestrationHref, runHref } from "../parts/link";
import { Command, Empty, ProblemNotice, Stale, Waiting } from "../parts/notice";
import { Tabs } from "../parts/tabs";
import { YamlText } from "../parts/yaml_text";
import { setQuery, useAddress } from "../router";
import { fields } from "../schema_tree";
import type { Column, KindDetail, KindShown, KubeEvent, KubeObject, Schema } from "../types";

const EVERY = 5000;

/** Where an object is shown best: runs and orchestrations have pages of their own. */
function hrefOf(kind: string, object: KubeObject): string {
  const { namespace, name } = object.metadata;
  if (kind === "orchestrationruns") return runHref(namespace, name);
  if (kind === "orchestrations") return orchestrationHref(namespace, name);
  return `/kinds/${kind}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

export function KindsView({ kind, namespace, name }: { kind?: string; namespace?: string; name?: string }) {
  const { found, problem } = useAnswer<{ items: KindShown[] }>("/v1/kinds");
  const [since] = useState(() => Date.now());
  if (!found) {
    return (
      <main className="page">
        <h1 className="lonely">Kinds</h1>
        {problem ? <ProblemNotice problem={problem} /> : <Waiting what="Reading the kinds" since={since} />}
      </main>
    );
  }
  const shown = found.items.find((item) => item.plural === (kind ?? "agents"));
  return (
    <main className="kinds">
      <nav className="kind-list" aria-label="Kinds">
        {found.items.map((entry) => (
          <Link
            key={entry.plural}
            to={`/kinds/${entry.plural}`}
            aria-current={entry === shown ? "page" : undefined}
          >
            {entry.name}
            {entry.notBuilt && <span className="tag">not built</span>}
          </Link>
        ))}
      </nav>
      <div className="kind-body">
        {!shown && <Empty title={`There is no kind ${kind ?? ""}`} />}
        {shown && namespace && name && (
          <OneObject key={name} kind={shown} namespace={namespace} name={name} />
        )}
        {shown && !name && <Objects key={shown.plural} kind={shown} />}
      </div>
    </main>
  );
}

/** GATE-1: what does nothing says so wherever it is shown. */
function NotBuilt({ kind }: { kind: KindShown }) {
  if (!kind.notBuilt) return null;
  return (
    <p className="notice not-built">
      <b>{kind.name} is not built yet.</b> Nothing acts on its objects. Until then, {kind.instead}.
    </p>
  );
}

function Objects({ kind }: { kind: KindShown }) {
  const address = useAddress();
  const text = (address.searchParams.get("q") ?? "").toLowerCase();
  const { found, problem, connection } = useAnswer<{ items: KubeObject[]; truncated: boolean }>(
    `/v1/kinds/${kind.plural}/objects`,
    "",
    EVERY,
  );
  const [since] = useState(() => Date.now());
  const now = useNow(true, EVERY);
  useEffect(() => {
    document.title = `${kind.name} · Jangar`;
  }, [kind.name]);
  const columns = columnsOf(kind);
  const shown = found?.items.filter((item) =>
    `${item.metadata.namespace}/${item.metadata.name}`.toLowerCase().includes(text),
  );
  return (
    <>
      <Stale connection={connection} hasData={found !== null} />
      <div className="toolbar">
        <div className="titles">
          <h1>{kind.name}</h1>
          <span className="under">{kind.description}</span>
        </div>
        <span className="spring" />
        <input
          type="search"
          placeholder="Search"
          aria-label={`Search ${kind.plural}`}
          value={address.searchParams.get("q") ?? ""}
          onChange={(event) => setQuery({ q: event.target.value })}
        />
      </div>
      <NotBuilt kind={kind} />
      {problem && !found && <ProblemNotice problem={problem} />}
      {!found && !problem && <Waiting what={`Reading ${kind.plural}`} since={since} />}
      {shown && !shown.length && (
        <Empty title={text ? `No ${kind.name} matches` : `There is no ${kind.name} yet`}>
          {!text && (
            <>
              <p>This command describes its fields:</p>
              <Command>{`kubectl explain ${kind.plural}.spec`}</Command>
            </>
          )}
        </Empty>
      )}
      {shown && shown.length > 0 && (
        <div className="scroll" tabIndex={0} role="region" aria-label={`${kind.name} objects`}>
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Namespace</th>
                {columns.map((entry) => (
                  <th key={entry.name} scope="col" title={entry.description}>
                    {entry.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.slice(0, 500).map((object) => (
                <tr key={object.metadata.uid}>
                  <th scope="row">
                    <Link to={hrefOf(kind.plural, object)}>{object.metadata.name}</Link>
                  </th>
                  <td>{object.metadata.namespace}</td>
                  {columns.map((element) => (
                    <Cell key={element.name} column={element} object={object} now={now} />
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
          {(found?.truncated || shown.length > 500) && (
            <p className="under padded">There are more; search for one by name.</p>
          )}
        </div>
      )}
    </>
  );
}

function Cell({ column, object, now }: { column: Column; object: KubeObject; now: number }) {
  const value = shownValue(valueAt(object, column.path));
  if (column.type === "date" && value) return <td title={clock(value)}>{age(value, now)}</td>;
  return (
    <td className={value === "False" || value === "Failed" || value === "Invalid" ? "bad" : ""}>
      {value || "–"}
    </td>
  );
}

const TABS = ["fields", "events", "yaml"] as const;
const TITLES = { fields: "Fields", events: "Events", yaml: "YAML" };

function OneObject({ kind, namespace, name }: { kind: KindShown; namespace: string; name: string }) {
  const path = `/v1/namespaces/${encodeURIComponent(namespace)}/kinds/${kind.plural}/${encodeURIComponent(name)}`;
  const { found, problem, connection } = useAnswer<{ object: KubeObject; events: KubeEvent[] }>(
    path,
    "",
    EVERY,
  );
  const { found: schema } = useAnswer<KindDetail>(`/v1/kinds/${kind.plural}`);
  const [since] = useState(() => Date.now());
  const now = useNow(true, EVERY);
  const asked = useAddress().searchParams.get("view");
  const tab = TABS.find((item) => item === asked) ?? "fields";
  useEffect(() => {
    document.title = `${name} · Jangar`;
  }, [name]);
  const status = found?.object.status as { phase?: string; reason?: string; message?: string } | undefined;
  return (
    <>
      <Stale connection={connection} hasData={found !== null} />
      <div className="toolbar">
        <div className="titles">
          <h1>{name}</h1>
          <span className="under">
            <Link to={`/kinds/${kind.plural}`}>{kind.name}</Link> · {namespace}
            {found && ` · ${age(found.object.metadata.creationTimestamp, now)}`}
          </span>
        </div>
        {status?.phase && <span className="tag">{status.phase}</span>}
      </div>
      <NotBuilt kind={kind} />
      {problem && !found && <ProblemNotice problem={problem} />}
      {!found && !problem && <Waiting what="Reading the object" since={since} />}
      {status?.message && <p className="message">{status.message}</p>}
      {found && (
        <>
          <Tabs
            label={`About ${name}`}
            tabs={TABS}
            titles={TITLES}
            chosen={tab}
            onChoose={(entry) => setQuery({ view: entry === "fields" ? null : entry })}
          />
          <div className="view" role="tabpanel" aria-label={TITLES[tab]} tabIndex={0}>
            {tab === "fields" && schema && (
              <>
                <FieldTable title="Spec" value={found.object.spec} schema={schema.specSchema} />
                <FieldTable title="Status" value={found.object.status} schema={schema.statusSchema} />
              </>
            )}
            {tab === "events" && (
              <EventList
                events={found.events}
                now={now}
                none="No events. Kubernetes keeps events for one hour."
              />
            )}
            {tab === "yaml" && <YamlText value={found.object} label={`${kind.name} ${name}`} />}
          </div>
        </>
      )}
    </>
  );
}

function FieldTable({ title, value, schema }: { title: string; value: unknown; schema: Schema }) {
  const rows = fields(value, schema);
  if (!rows.length) return null;
  return (
    <section className="field-table">
      <h2>{title}</h2>
      <dl>
        {rows.map((row) => (
          <div key={row.path} style={{ paddingLeft: row.depth * 16 }}>
            <dt title={row.path}>{row.name}</dt>
            <dd>
              {row.value && <span className="value">{row.value}</span>}
              {row.description && <span className="under">{row.description}</span>}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
