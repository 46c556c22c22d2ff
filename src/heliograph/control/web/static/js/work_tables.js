/** Who does the work of a flow: lanes, and periodic tasks. */

import { el } from "./dom.js";
import { ago, count, duration, exact, NOTHING } from "./format.js";
import { icon } from "./icons.js";
import { DataTable } from "./table.js";

const NAMED_PARTITIONS = 12;

/** The lanes and what each copies. */
export function laneTable() {
  const columns = [
    { label: "Lane", text: ({ number }) => `lane ${number}`, value: ({ number }) => number },
    {
      label: "State",
      text: ({ failures }) => failures.join("\n"),
      node: ({ failures }) => outcome(failures.length ? "fails" : "", "copies"),
    },
    {
      label: "Partitions",
      text: ({ partitions }) => exact(partitions.length),
      value: ({ partitions }) => partitions.length,
      isNumber: true,
    },
    { label: "Which", text: ({ partitions }) => which(partitions), isWide: true },
    { label: "Doing", text: ({ doing }) => doing || NOTHING, isWide: true },
    { label: "Failures", text: ({ failures }) => failures.join("; ") || NOTHING, isWide: true },
  ];
  return new DataTable({ label: "lanes", noun: "lane", columns, sortBy: 0, empty: "No lane is at work." });
}

/** Heartbeats, checkpoints, topics, settings and so on. */
export function choreTable() {
  const number = (label, text, value, hint) => ({ label, text, value, hint, isNumber: true });
  const columns = [
    { label: "Task", text: ({ name }) => name },
    { label: "State", text: choreState, node: (chore) => outcome(chore.failure && "fails", choreState(chore)) },
    {
      label: "Result",
      text: ({ failure, summary, failing_since_ms: since }) =>
        failure ? `${failure} (for ${ago(since, Date.now()).replace(" ago", "")})` : summary || NOTHING,
      isWide: true,
    },
    number(
      "Last success",
      ({ last_success_ms: at }) => ago(at, Date.now()),
      ({ last_success_ms: at }) => at,
    ),
    number(
      "Took",
      ({ last_seconds: seconds, runs }) => (runs ? duration(seconds) : NOTHING),
      ({ last_seconds: seconds }) => seconds,
    ),
    number(
      "Every",
      ({ seconds }) => duration(seconds),
      ({ seconds }) => seconds,
    ),
    number(
      "Runs",
      ({ runs }) => count(runs),
      ({ runs }) => runs,
    ),
    number(
      "Failures",
      ({ failures }) => count(failures),
      ({ failures }) => failures,
    ),
    { label: "Part of", text: ({ connector }) => connector ?? NOTHING },
  ];
  return new DataTable({ label: "periodic tasks", noun: "task", columns, empty: "There are no periodic tasks." });
}

function choreState({ runs, failure }) {
  return failure ? "fails" : runs ? "works" : "waits";
}

function outcome(failure, word) {
  if (!failure) return el("span", { class: "muted" }, word);
  return el("span", { class: "chip tone-bad" }, icon("cross"), el("span", {}, failure));
}

function which(partitions) {
  const named = partitions.slice(0, NAMED_PARTITIONS).map(({ topic, partition }) => `${topic}-${partition}`);
  const more = partitions.length - named.length;
  return named.join(", ") + (more > 0 ? ` and ${exact(more)} more` : "") || NOTHING;
}
