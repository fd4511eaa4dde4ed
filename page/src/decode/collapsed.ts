import type { GrowingProfile } from "../data/growing_profile";
import type { Side } from "../data/profile";

const LINE = /^(.*\S) (-?\d+)$/;
/** The first line, where the weights are not nanoseconds. */
const WEIGHT = /^# (\w+) ([a-z]\w*)$/;
const LOOKED_AT = 20; // lines
const LEAST_TIME = 1_000_000; // nanoseconds: what comes to less is samples

export function looksCollapsed(bytes: Uint8Array): boolean {
  const head = bytes.subarray(0, 64 * 1024);
  if (head.includes(0)) return false;
  const lines = new TextDecoder().decode(head).split("\n").slice(0, LOOKED_AT);
  if (lines.length > 1 && lines.length < LOOKED_AT && bytes.length > head.length) lines.pop();
  const filled = lines.map((line) => line.trimEnd()).filter((line) => line !== "");
  if (WEIGHT.test(filled[0] ?? "")) filled.shift();
  return filled.length > 0 && filled.every((line) => LINE.test(line));
}

export function decodeCollapsed(text: string, name: string, side: Side, profile: GrowingProfile): void {
  const lines = text.split("\n").map((line) => line.trimEnd());
  const said = WEIGHT.exec(lines[0]);
  if (said) lines[0] = "";
  const found = lines.map((line, index) => stackOf(line, index + 1));
  const total = found.reduce((sum, one) => sum + Math.abs(one?.weight ?? 0), 0);
  const [type, unit] = said ? [said[1], said[2]] : total < LEAST_TIME ? ["samples", "count"] : ["wall", "nanoseconds"];
  const column = profile.type(type, unit);
  profile.defaultType ||= type;
  const window = profile.addWindow({ name, start: 0, duration: 0, side });
  const labels = profile.labels(new Map());
  for (const one of found) {
    if (!one) continue;
    let node = 0;
    for (const frame of one.frames) node = profile.stacks.child(node, profile.frame(frame, "", 0));
    profile.values[column][profile.addSample(node, labels, window)] = one.weight;
  }
}

function stackOf(line: string, number: number): { frames: string[]; weight: number } | undefined {
  if (line === "") return undefined;
  const found = LINE.exec(line);
  if (!found) throw new Error(`line ${number} is not a stack and its weight`);
  return { frames: found[1].split(";"), weight: Number(found[2]) };
}
