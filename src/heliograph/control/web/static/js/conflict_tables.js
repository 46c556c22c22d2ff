/** Conflicts by key, and by topic, rule and winner. */

import { el } from "./dom.js";
import { exact } from "./format.js";
import { DataTable } from "./table.js";

/** @param {(chosen: {topic: string, key: string}) => void} onChosen */
export function keyTable(onChosen) {
  const link = ({ topic, key }) =>
    el("button", { type: "button", class: "link", on: { click: () => onChosen({ topic, key }) } }, key || "(empty)");
  const columns = [
    { label: "Key", text: ({ topic, key }) => `${topic} ${key}`, value: ({ key }) => key, node: link, isWide: true },
    { label: "Topic", text: ({ topic }) => topic },
    { label: "Conflicts", text: atLeast, value: ({ conflicts }) => conflicts, isNumber: true },
  ];
  return new DataTable({
    label: "keys",
    noun: "key",
    columns,
    filterText: ({ topic, key }) => `${topic} ${key}`,
    sortBy: 2,
    isDescending: true,
    empty: "No key had a conflict within the last hour.",
    pageSize: 10,
  });
}

export function shareTable() {
  const columns = [
    { label: "Name", text: ({ name }) => name },
    { label: "Is a", text: ({ kind }) => kind },
    { label: "Conflicts", text: atLeast, value: ({ conflicts }) => conflicts, isNumber: true },
  ];
  return new DataTable({
    label: "shares",
    noun: "share",
    columns,
    empty: "There were no conflicts within the last hour.",
    pageSize: 20,
  });
}

/** @param {any} cluster */
export function sharesOf({ topics, rules, winners }) {
  const named = (kind, counts) => counts.map((each) => ({ kind, ...each }));
  return [...named("topic", topics), ...named("rule", rules), ...named("winner", winners)];
}

function atLeast({ conflicts, is_exact: isExact }) {
  return isExact ? exact(conflicts) : `at least ${exact(conflicts)}`;
}
