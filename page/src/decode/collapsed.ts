import type { GrowingProfile } from "../data/growing_profile";
import type { Side } from "../data/profile";

const LINE = /^(.*\S) (-?\d+)$/;
const LOOKED_AT = 20; // lines

export function looksCollapsed(bytes: Uint8Array): boolean {
  const head = bytes.subarray(0, 64 * 1024);
  if (head.includes(0)) return false;
  const lines = new TextDecoder().decode(head).split("\n").slice(0, LOOKED_AT);
  if (lines.length > 1 && lines.length < LOOKED_AT && bytes.length > head.length) lines.pop();
  const filled = lines.map((line) => line.trimEnd()).filter((line) => line !== "");
  return filled.length > 0 && filled.every((line) => LINE.test(line));
}

export function decodeCollapsed(text: string, name: string, side: Side, profile: GrowingProfile): void {
  const column = profile.type("wall", "nanoseconds");
  profile.defaultType ||= "wall";
  const window = profile.addWindow({ name, start: 0, duration: 0, side });
  const labels = profile.labels(new Map());
  text.split("\n").forEach((line, index) => {
    if (line.trim() === "") return;
    const found = LINE.exec(line.trimEnd());
    if (!found) throw new Error(`line ${index + 1} is not a stack and its weight`);
    let node = 0;
    for (const frame of found[1].split(";")) node = profile.stacks.child(node, profile.frame(frame, "", 0));
    profile.values[column][profile.addSample(node, labels, window)] = Number(found[2]);
  });
}
