/** What can be done with a flow, what each choice means, and what it takes. */

/**
 * @typedef {object} Option
 * @property {string} name as the API calls it
 * @property {string} label
 * @property {string} hint
 * @property {"number"|"check"|"text"|"choice"} kind
 * @property {any} initial
 * @property {[string, string][]} [choices] values and words
 * @property {(value: any) => any} [sent] what the API gets for it
 */

/** @type {Record<string, Option>} */
const OPTIONS = {
  fence: {
    name: "fence",
    label: "Producers",
    hint: "Either they stop by themselves and are waited for, or their topics are closed to them until that is undone.",
    kind: "choice",
    initial: "",
    choices: [
      ["", "wait until they stop"],
      ["topic", "keep out by a topic setting"],
      ["acl", "keep out by an ACL"],
    ],
    sent: (value) => value || null,
  },
  quiet: {
    name: "quiet_seconds",
    label: "Quiet, seconds",
    hint: "Producers have stopped when nothing new has come for so long.",
    kind: "number",
    initial: 10,
  },
  patience: {
    name: "patience_seconds",
    label: "Patience, seconds",
    hint: "So long are producers, the mirror and consumers waited for, each.",
    kind: "number",
    initial: 600,
  },
  leave: {
    name: "leave_consumers",
    label: "Leave consumers",
    hint: "Go on although groups are still consuming; they may read some records again.",
    kind: "check",
    initial: false,
  },
  verify: {
    name: "verify_seconds",
    label: "Compare, seconds",
    hint: "Records that were written so long before the beginning are compared on both sides; 0: none.",
    kind: "number",
    initial: 600,
  },
  compared: {
    name: "verify_seconds",
    label: "Compare, seconds",
    hint: "Records of so long ago are compared; empty: all, which may take long.",
    kind: "number",
    initial: 3600,
    sent: (value) => (Number.isNaN(value) ? null : value),
  },
  tail: {
    name: "tail_topic",
    label: "Topic for the tail",
    hint: "What the source has and was never mirrored is kept there, on the target. Empty: named by source and time.",
    kind: "text",
    initial: "",
    sent: (value) => value.trim() || null,
  },
};

const DRILL = [
  {
    name: "drill_seconds",
    label: "Load, seconds",
    hint: "So long are canary records written before the source is taken for lost.",
    kind: "number",
    initial: 20,
  },
  {
    name: "drill_groups",
    label: "Groups",
    hint: "So many canary groups move there and back.",
    kind: "number",
    initial: 20,
  },
];

const MOVE = [OPTIONS.fence, OPTIONS.quiet, OPTIONS.patience, OPTIONS.leave, OPTIONS.verify];

/**
 * @typedef {object} OperationKind
 * @property {string} label
 * @property {string} remark
 * @property {string} operation as the API calls it
 * @property {boolean} [isUndo]
 * @property {boolean} [isHarmless] changes nothing, so it needs no confirmation and no look before
 * @property {Option[]} options
 */

/** @type {Record<string, OperationKind>} */
export const KINDS = {
  switchover: {
    label: "Switchover",
    remark: "A planned move from the source to the target: nothing is lost, nothing is read twice, or it is put back.",
    operation: "switchover",
    options: MOVE,
  },
  failover: {
    label: "Failover",
    remark:
      "An emergency move to the target; the source may be gone. The flow is closed, so that a source that comes back " +
      "cannot write into the target.",
    operation: "failover",
    options: [],
  },
  failback: {
    label: "Failback",
    remark: "Back to the source, which has returned. Choose the flow that failed over, not the one back.",
    operation: "failback",
    options: [...MOVE, OPTIONS.tail],
  },
  verify: {
    label: "Verify",
    remark: "Compares target and source, and changes nothing.",
    operation: "verify",
    isHarmless: true,
    options: [OPTIONS.compared],
  },
  drill: {
    label: "Drill",
    remark:
      "Rehearses failover and failback with canary topics and groups, and measures them. Topics and groups of " +
      "production are not touched; what is created is deleted at the end.",
    operation: "drill",
    options: DRILL,
  },
  "undo-switchover": {
    label: "Undo a switchover",
    remark: "Puts back what a switchover has changed, be it finished or not: producers may write, the flow goes on.",
    operation: "switchover",
    isUndo: true,
    options: [],
  },
  "undo-failback": {
    label: "Undo a failback",
    remark: "Puts back what an unfinished failback has changed.",
    operation: "failback",
    isUndo: true,
    options: [],
  },
};

/**
 * What an operation is called.
 * @param {{operation: string, is_undo: boolean}} operation
 */
export function operationName({ operation, is_undo: isUndo }) {
  return (KINDS[isUndo ? `undo-${operation}` : operation] ?? { label: operation }).label;
}
