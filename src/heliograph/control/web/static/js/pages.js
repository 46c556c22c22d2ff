/** Which page belongs to which address. */

import { ConfigPage } from "./pages/config_page.js";
import { ConflictsPage } from "./pages/conflicts_page.js";
import { EventsPage } from "./pages/events_page.js";
import { FlowPage } from "./pages/flow_page.js";
import { GroupsPage } from "./pages/groups_page.js";
import { NowherePage } from "./pages/nowhere_page.js";
import { OperationPage } from "./pages/operation_page.js";
import { OperationsPage } from "./pages/operations_page.js";
import { OverviewPage } from "./pages/overview_page.js";
import { PartitionPage } from "./pages/partition_page.js";
import { PlanPage } from "./pages/plan_page.js";
import { TopicsPage } from "./pages/topics_page.js";

const GENERAL = {
  overview: OverviewPage,
  events: EventsPage,
  conflicts: ConflictsPage,
  operations: OperationsPage,
  operation: OperationPage,
};
const OF_A_FLOW = {
  flow: FlowPage,
  topics: TopicsPage,
  groups: GroupsPage,
  plan: PlanPage,
  config: ConfigPage,
  partitions: PartitionPage,
};

/**
 * @param {import("./route.js").Route} route
 * @returns {import("./app.js").Page}
 */
export function makePage(route) {
  const Kind = (route.flow ? OF_A_FLOW : GENERAL)[route.page] ?? NowherePage;
  return new Kind(route);
}
