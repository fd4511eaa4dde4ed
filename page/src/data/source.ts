import { MAX_BYTES } from "../decode/limit";
import { GrowingProfile } from "./growing_profile";
import { LiveSource } from "./live_source";
import type { Profile, Side } from "./profile";
import { isLarge, Reading, type Trees } from "./reading";
import { get, servedLines } from "./served";

interface FileEntry {
  name: string;
  url?: string; // where it is served
  side?: Side;
}

/** What the page is told when it is opened. */
export interface Manifest {
  title: string;
  files: FileEntry[];
  state?: string; // what an address without a state shows
  source?: boolean; // source lines can be asked for
  max_bytes?: number; // of a file, uncompressed, that are read
  takes?: boolean; // snapshots can be asked for
  live?: LiveManifest; // it grows: updates can be asked for
}

interface LiveManifest {
  interval_ms: number;
  trace?: boolean; // every call: all that is shown is exact
}

/** Who wants to know what a source has. */
export interface Listener {
  /** Answers once it is drawn. */
  changed(profile: Profile): void | Promise<void>;
  failed(message: string): void;
  reading(name: string): void;
}

/** Where a profile comes from. One that grows calls `changed` again. */
export interface Source {
  manifest: Manifest;
  live?: Live;
  trees?: Trees; // of a large profile: who makes its call trees
  start(listener: Listener): Promise<void>;
  /** Nobody listens any more. */
  stop(): void;
  /** The lines of a source file; null where it is not at hand. */
  lines(path: string): Promise<string[] | null>;
}

/** What one can do with a source that grows, and what it knows of its processes. */
export interface Live {
  readonly processes: LiveProcess[];
  readonly lost: number; // windows that came and went while nobody asked
  readonly isTrace: boolean; // positions are where threads are, else where each was for the most of its last update
  paused: boolean;
  clear(): void;
  positions(): Position[];
}

export interface LiveProcess {
  pid: number;
  state: "asked" | "recording" | "ended";
  why: string | null;
  quiet_ms: number | null; // since its last window; null: there was none yet
}

export interface Position {
  pid: string;
  thread: string;
  name: string; // "": not known
  sample: number;
  state: string;
}

/** What `report --html` has put into the page, or else what the server that it is from says. */
export async function openSource(): Promise<Source> {
  const embedded = document.getElementById("manifest");
  if (embedded) return new FileSource(JSON.parse(new TextDecoder().decode(bytesIn(embedded))) as Manifest, embeddedFile);
  const manifest = (await (await get("profiles.json", "profiles.json")).json()) as Manifest;
  return manifest.live ? new LiveSource(manifest) : new FileSource(manifest, served);
}

type Reader = (file: FileEntry, index: number) => Promise<Uint8Array<ArrayBuffer>>;

export class FileSource implements Source {
  trees?: Trees;
  private reading: Reading | null = null;

  constructor(readonly manifest: Manifest, private readonly read: Reader) {}

  async start({ changed, failed, reading }: Listener): Promise<void> {
    const began = performance.now();
    this.reading = new Reading(this.manifest.max_bytes ?? MAX_BYTES, reading, failed);
    for (const [index, file] of this.manifest.files.entries()) {
      try {
        this.reading.add(await this.read(file, index), file.name, file.side ?? "");
      } catch (error) {
        failed(error instanceof Error ? error.message : String(error));
      }
    }
    const profile = await this.reading.end().catch((error: unknown): Profile => {
      failed(String(error));
      return new GrowingProfile(); // nothing, which is said, too
    });
    performance.measure("read", { start: began });
    if (isLarge(profile)) this.trees = this.reading;
    else this.reading.stop();
    await changed(profile);
    performance.measure("read and drawn", { start: began });
  }

  stop(): void {
    this.reading?.stop();
  }

  lines(path: string): Promise<string[] | null> {
    return servedLines(this.manifest, path);
  }
}

/** Files that somebody dropped on the page, or chose. */
export function droppedSource(files: File[]): Source {
  const manifest = { title: files.map((file) => file.name).join(", "), files: files.map((file) => ({ name: file.name })) };
  return new FileSource(manifest, async (_, index) => new Uint8Array(await files[index].arrayBuffer()));
}

async function served(file: FileEntry): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await (await get(file.url!, file.name)).arrayBuffer());
}

async function embeddedFile(_: FileEntry, index: number): Promise<Uint8Array<ArrayBuffer>> {
  const element = document.getElementById(`file-${index}`)!;
  const bytes = bytesIn(element);
  element.remove();
  return bytes;
}

function bytesIn(element: HTMLElement): Uint8Array<ArrayBuffer> {
  const base64 = element.textContent!.trim();
  const { fromBase64 } = Uint8Array as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }; // of browsers since 2025
  if (fromBase64) return fromBase64.call(Uint8Array, base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}
