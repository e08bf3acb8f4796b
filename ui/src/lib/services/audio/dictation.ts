import { sendRaw } from '$lib/api/raw';
import { language } from '$lib/chat_text/language.svelte';
import { ApiProblem, problemOf } from '$lib/services/call';

/** What is said in a recording, by a model that transcribes; `signal` ends the request. Raises `ApiProblem`. */
export async function transcribe(recording: File, model: string, signal: AbortSignal): Promise<string> {
	const form = new FormData();
	form.append('model', model);
	form.append('file', recording, recording.name);
	const unreachable = (): never => {
		throw new ApiProblem(0, 'unreachable', language.text.common.unreachable);
	};
	const response = await sendRaw('POST', '/v1/audio/transcriptions', { body: form, signal }).catch(unreachable);
	const answer = (await response.json().catch(() => undefined)) as { text?: string } | undefined;
	if (!response.ok) throw problemOf(response, answer);
	return answer?.text ?? unreachable(); // the connection has ended within the answer
}
