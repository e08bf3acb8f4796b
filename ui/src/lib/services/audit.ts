import { api } from '$lib/api/client';
import { getRaw } from '$lib/api/raw';
import type { components } from '$lib/api/schema';
import { LineSplitter } from '$lib/services/audit_chain';
import { MOST_LINE_BYTES } from '$lib/services/audit_record';
import { ApiProblem, call, problemOf } from '$lib/services/call';
import type { ChainSource } from '$lib/services/chain_verification';
import type { SignedHead } from '$lib/services/signed_head';
import { text } from '$lib/text';

export type AuditPage = components['schemas']['AuditPage'];

/** What a record must be; `since` (inclusive) and `until` (exclusive) as ISO 8601 with a zone. */
export type AuditFilters = Partial<Record<'actor' | 'authority' | 'action' | 'subject' | 'outcome' | 'since' | 'until', string>>;

const PATH = '/v1/governance/audit';
const NDJSON = 'application/x-ndjson';
/** Lines of one answer, its most. */
const AT_ONCE = 10_000;
const PAGE = 50;

/** A page of records, the newest first, behind the record with the number `after`. Raises `ApiProblem`, also if that is none. */
export function readRecords(filters: AuditFilters, after: string | undefined): Promise<AuditPage> {
	const query = { ...filters, order: 'newest' as const, limit: PAGE, ...(after === undefined ? {} : { after: Number(after) }) };
	return call(api.GET(PATH, { params: { query } })) as Promise<AuditPage>; // without `format` it is no text
}

/** The signed head of the chain. */
function readHead(): Promise<SignedHead> {
	return call(api.GET('/v1/governance/audit/head'));
}

/**
 * All lines of the records that fit behind the number `begin`, the oldest first, a piece of an answer at a time: as many answers
 * as they need, and never more in memory than a piece. Raises `ApiProblem`, and the error of `signal`.
 */
export async function* exportedLines(filters: AuditFilters, signal: AbortSignal, begin = 0): AsyncGenerator<Uint8Array[]> {
	let after: number | undefined = begin;
	while (after !== undefined) {
		const query = new URLSearchParams({ ...filters, format: 'ndjson', limit: String(AT_ONCE), after: String(after) });
		let count = 0;
		let latest: number | undefined;
		for await (const lines of linesOf(`${PATH}?${query}`, signal)) {
			count += lines.length;
			latest = lastNumber(lines) ?? latest;
			yield lines;
		}
		after = count < AT_ONCE ? undefined : latest;
	}
}

async function* linesOf(path: string, signal: AbortSignal): AsyncGenerator<Uint8Array[]> {
	let answer: Response;
	try {
		answer = await getRaw(path, NDJSON, signal);
	} catch (error) {
		throw signal.aborted ? error : new ApiProblem(0, 'unreachable', text.common.unreachable);
	}
	if (!answer.ok || answer.body === null) throw problemOf(answer, await answer.json().catch(() => undefined));
	const splitter = new LineSplitter();
	const reader = answer.body.getReader();
	try {
		for (;;) {
			let piece: ReadableStreamReadResult<Uint8Array>;
			try {
				piece = await reader.read();
			} catch (error) {
				throw signal.aborted ? error : new ApiProblem(0, 'unreachable', text.common.unreachable);
			}
			const lines = piece.done ? splitter.end() : splitter.push(piece.value, MOST_LINE_BYTES);
			if (lines.length > 0) yield lines;
			if (piece.done) return;
		}
	} finally {
		// the caller may have seen enough: the rest is not sent. It rejects after a lost connection, which was raised above
		void reader.cancel().catch(() => undefined);
	}
}

/** The number of the last record among lines; a damaged line has none. */
function lastNumber(lines: readonly Uint8Array[]): number | undefined {
	for (const line of lines.toReversed()) {
		try {
			const { number } = JSON.parse(new TextDecoder().decode(line)) as { number?: unknown };
			if (Number.isSafeInteger(number)) return number as number;
		} catch {
			continue;
		}
	}
	return undefined;
}

/** The chain of the platform. Its readings raise `ApiProblem`, and the error of `signal`. */
export function platformChain(signal: AbortSignal): ChainSource {
	return { head: readHead, linesAfter: (number) => exportedLines({}, signal, number) };
}

const BLOB_BYTES = 4 << 20;
const LINE_END = Uint8Array.of(0x0a);

/** The lines as one file. The browser keeps what is collected outside the page's memory. Raises as `exportedLines`. */
export async function exportedFile(
	filters: AuditFilters,
	signal: AbortSignal,
	onProgress: (count: number) => void
): Promise<Blob> {
	const blobs: Blob[] = [];
	let parts: BlobPart[] = [];
	let size = 0;
	let count = 0;
	for await (const lines of exportedLines(filters, signal)) {
		for (const line of lines) {
			parts.push(line as Uint8Array<ArrayBuffer>, LINE_END);
			size += line.length + 1;
		}
		if (size > BLOB_BYTES) {
			blobs.push(new Blob(parts));
			parts = [];
			size = 0;
		}
		count += lines.length;
		onProgress(count);
	}
	return new Blob([...blobs, ...parts], { type: NDJSON });
}
