import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { asProblem, call } from '$lib/services/call';
import { text } from '$lib/text';

export type EndedRequest = components['schemas']['RequestObject'];
export type RequestPage = components['schemas']['RequestList'];
export type RequestTexts = components['schemas']['RequestTextsObject'];

/** `since` (inclusive) and `until` (exclusive) as ISO 8601 with a zone. */
export type RequestFilters = Readonly<Record<string, string>>;

const PAGE = 50;

/** A page of the requests that have ended or were refused, the latest first, behind the place `after`. Raises `ApiProblem`. */
export function readRequests(filters: RequestFilters, after: string | undefined): Promise<RequestPage> {
	const query = { ...filters, limit: PAGE, ...(after === undefined ? {} : { after }) };
	return call(api.GET('/v1/admin/requests', { params: { query } }));
}

/** How often one is asked for that is not there, and the pauses: a request is listed about a second after its end. */
const ATTEMPTS = 3;
const PAUSE_MS = 1_000;

/** One of them, also one that has ended a moment ago. Raises `ApiProblem`. */
export async function readRequest(id: string): Promise<EndedRequest> {
	for (let attempt = 1; ; attempt += 1) {
		try {
			return await call(api.GET('/v1/admin/requests/{id}', { params: { path: { id } } }));
		} catch (error) {
			if (attempt === ATTEMPTS || asProblem(error).status !== 404) throw error;
		}
		await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
	}
}

/** The prompt and the answer of a request; 404 if they are not kept. The audit records the reading. Raises `ApiProblem`. */
export function readTexts(id: string): Promise<RequestTexts> {
	return call(api.GET('/v1/admin/requests/{id}/texts', { params: { path: { id } } }));
}

/** The texts with their titles, which tell that a part is cut off. */
export function textRows({ prompt, answer }: Pick<RequestTexts, 'prompt' | 'answer'>): { title: string; value: string }[] {
	const words = text.requests;
	return [
		{ title: prompt.isCut ? words.cutPrompt : words.prompt, value: prompt.text || words.noText },
		{ title: answer.isCut ? words.cutAnswer : words.answer, value: answer.text || words.noText }
	];
}

/** A part of a request's time, in milliseconds from its admission. */
export interface Phase {
	name: 'load' | 'queue' | 'prompt' | 'answer' | 'run';
	from: number;
	length: number;
}

/** The parts of a request's time, in their order; none of a refused one. A part without a length is left out. */
export function phasesOf({ totalMs, waitedMs, loadMs, firstTokenMs, runMs }: EndedRequest): Phase[] {
	if (totalMs === null || waitedMs === null) return [];
	const load = Math.min(loadMs ?? 0, waitedMs);
	const run = runMs ?? 0;
	const prompt = firstTokenMs === null ? 0 : Math.min(firstTokenMs, run);
	const lengths: [Phase['name'], number][] = [
		['load', load],
		['queue', waitedMs - load],
		...(firstTokenMs === null
			? ([['run', run]] as [Phase['name'], number][])
			: ([
					['prompt', prompt],
					['answer', run - prompt]
				] as [Phase['name'], number][]))
	];
	const phases: Phase[] = [];
	let from = 0;
	for (const [name, length] of lengths) {
		if (length > 0) phases.push({ name, from, length });
		from += length;
	}
	return phases;
}

/** The tokens per second of an answer, from its first token on; null if they are not known. */
export function speedOf({ tokens, runMs, firstTokenMs }: EndedRequest): number | null {
	if (tokens === null || tokens.output < 2 || runMs === null || firstTokenMs === null || runMs <= firstTokenMs) return null;
	return ((tokens.output - 1) * 1000) / (runMs - firstTokenMs);
}
