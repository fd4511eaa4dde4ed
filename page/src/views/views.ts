import type { View } from "../parts/state";
import { callersView } from "./callers";
import { flameView } from "./flame";
import type { Shown } from "./shown";
import { sourceView } from "./source";
import { tableView } from "./table";
import { tagsView } from "./tags";
import { timelineView } from "./timeline";
import { treeView } from "./tree";

/** All views: each is a file here, a name in VIEWS (parts/state.ts), and a line in both of these. */
export const DRAW: Record<View, (shown: Shown) => HTMLElement> = {
  flame: flameView, table: tableView, callers: callersView, tree: treeView, tags: tagsView, timeline: timelineView, source: sourceView,
};
export const TITLES: Record<View, string> = {
  flame: "Flame graph", table: "Top", callers: "Callers", tree: "Tree", tags: "Tags", timeline: "Timeline", source: "Source",
};
