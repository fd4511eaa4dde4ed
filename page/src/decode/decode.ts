import type { GrowingProfile } from "../data/growing_profile";
import type { Side } from "../data/profile";
import { decodeCollapsed, looksCollapsed } from "./collapsed";
import { decodeJson } from "./json";
import { checkMemory, MAX_BYTES, TooLarge, type Kind } from "./limit";
import { decodePprof } from "./pprof";

const GZIP_LEAST = 18; // bytes of a gzip file
const GZIP_TYPICAL = 64; // times as large is what is in one; more is believed when it comes

/**
 * Adds a file to the profile. What is in it decides what it is, not its name.
 *
 * @param maxBytes of the file, uncompressed @param unpacked when it is about to be decoded
 */
export async function decode(bytes: Uint8Array, name: string, side: Side, profile: GrowingProfile, maxBytes = MAX_BYTES, unpacked: () => void = () => {}): Promise<void> {
  const before = profile.sampleCount;
  try {
    const raw = await unpack(bytes, maxBytes);
    const kind = kindOf(raw);
    checkMemory(raw, kind, maxBytes);
    unpacked();
    if (kind === "json") decodeJson(text(raw), name, side, profile);
    else if (kind === "collapsed") decodeCollapsed(text(raw), name, side, profile);
    else decodePprof(raw, name, side, profile);
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (profile.sampleCount === before) throw new Error(`${name}: no samples`);
}

function kindOf(raw: Uint8Array): Kind {
  if (isObject(raw)) return "json";
  return looksCollapsed(raw) ? "collapsed" : "pprof";
}

async function unpack(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  if (bytes.length > maxBytes) throw new TooLarge(maxBytes);
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const { writable, readable } = new DecompressionStream("gzip");
  const writer = writable.getWriter();
  // At once: a Blob, or a Response, would take it through another process.
  const written = writer.write(bytes as BufferSource).then(() => writer.close());
  try {
    const [unpacked] = await Promise.all([joined(readable.getReader(), said(bytes), maxBytes), written]);
    return unpacked;
  } catch (error) {
    if (error instanceof TooLarge) throw error;
    throw new Error("not a whole gzip file");
  }
}

/** How long a gzip file says that its content is: its last four bytes, if that can be. */
function said(bytes: Uint8Array): number {
  const length = bytes.length < GZIP_LEAST ? 0 : new DataView(bytes.buffer, bytes.byteOffset + bytes.length - 4).getUint32(0, true);
  return Math.min(length, bytes.length * GZIP_TYPICAL);
}

async function joined(reader: ReadableStreamDefaultReader<Uint8Array>, expected: number, maxBytes: number): Promise<Uint8Array> {
  let all = new Uint8Array(Math.min(expected, maxBytes));
  let length = 0;
  for (let { value } = await reader.read(); value; { value } = await reader.read()) {
    if (length + value.length > maxBytes) {
      void reader.cancel().catch(() => {});
      throw new TooLarge(maxBytes);
    }
    if (length + value.length > all.length) {
      const larger = new Uint8Array((length + value.length) * 2);
      larger.set(all.subarray(0, length));
      all = larger;
    }
    all.set(value, length);
    length += value.length;
  }
  return all.subarray(0, length);
}

function isObject(bytes: Uint8Array): boolean {
  let at = 0;
  while (bytes[at] === 0x20 || (bytes[at] >= 9 && bytes[at] <= 13)) at++;
  return bytes[at] === 0x7b && !(at === 1 && bytes[0] === 0x0a); // "\n{" begins a pprof with a message of 123 bytes
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
