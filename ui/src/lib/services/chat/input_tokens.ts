import { api } from '$lib/api/client';

/** Fields of a request that a count has no use for. */
const LEFT_OUT = new Set(['stream', 'store', 'return_progress', 'metadata', 'background']);

/** Models that cannot count, as the platform has said. */
const unable = new Set<string>();

/** The tokens of a request's input, counted by the model itself. Null if it cannot, or cannot now. */
export async function countInputTokens(body: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<number | null> {
	const model = String(body.model);
	if (unable.has(model)) return null;
	// the body was made as one of a request, of which the fields are typed there
	const counted = Object.fromEntries(Object.entries(body).filter(([name]) => !LEFT_OUT.has(name)));
	try {
		const { data, error } = await api.POST('/v1/responses/input_tokens', { body: counted as never, signal });
		if (error && 'error' in error && error.error.code === 'token_count_unsupported') unable.add(model);
		return data?.input_tokens ?? null;
	} catch {
		return null;
	}
}
