import type { ChatText } from '$lib/chat_text/en';
import type { ChatSettings } from '$lib/chat_types';
import { reasonAgainst, type Gated } from '$lib/services/attachments/gate';
import { unsupported, type ChatModel } from '$lib/services/chat/chat_models';
import { failureInWords } from '$lib/services/chat/model_words';
import { span } from '$lib/services/chat/numbers';

type Words = ChatText['models'];

/** What a person should know, or do, before a message goes to a model. */
export interface ModelNotice {
	tone: 'plain' | 'wait' | 'bad';
	text: string;
	/** From 0 to 1, of a load under way. */
	progress?: number;
	action?: 'load' | 'allow' | 'reset' | 'choose';
	/** Of `reset`: the parameters that the model refuses; `reasoning` is that setting. */
	names?: readonly string[];
}

/**
 * The notices of a model, the one that stops a message first. `model` is undefined if the platform has none of this name.
 * None for a model that answers at once. `attached`: what the conversation has so far.
 */
export function noticesOf(
	name: string,
	model: ChatModel | undefined,
	settings: ChatSettings,
	words: Words,
	code: string,
	attached: readonly Gated[] = []
): ModelNotice[] {
	if (model === undefined) return [{ tone: 'bad', text: words.missing(name) }];
	const notices: ModelNotice[] = [];
	if (model.isRemote && settings.parameters.allow_remote !== true)
		notices.push({ tone: 'wait', text: words.isRemote(name), action: 'allow' });
	const refused = unsupported(model, settings.parameters);
	if (model.task === null && settings.reasoning === 'off' && !model.reasoning.includes('disabled')) refused.push('reasoning');
	if (refused.length > 0)
		notices.push({
			tone: 'wait',
			text: words.refusesParameters(name, refused.map((one) => nameOf(one, words)).join(', ')),
			action: 'reset',
			names: refused
		});
	const isSeen = (attachment: Gated): boolean => model.task !== null || reasonAgainst(attachment, model.inputs) === null;
	const unseen = attached.filter((attachment) => !isSeen(attachment)).length;
	if (unseen > 0) notices.push({ tone: 'wait', text: words.doesNotSee(name, unseen), action: 'choose' });
	const state = stateNotice(model, words, code);
	return state ? [...notices, state] : notices;
}

function nameOf(parameter: string, words: Words): string {
	return parameter === 'reasoning' ? words.reasoning : (words.fields[parameter]?.name ?? parameter);
}

function stateNotice(model: ChatModel, words: Words, code: string): ModelNotice | null {
	const { name, state, canLoad, loading, loadSeconds } = model;
	const time = (seconds: number): string => span(Math.max(1, Math.round(seconds)) * 1000, code);
	if (state === 'loaded') return null;
	if (state === 'loading') {
		const left = loading?.etaSeconds ?? null;
		const text = left === null ? words.loading(name) : words.loadingTime(name, time(left));
		return { tone: 'plain', text, ...(loading && { progress: loading.progress }) };
	}
	const why = failureInWords(model, words);
	const hasFailed = state === 'failed' || why !== null;
	if (!canLoad) {
		const text = hasFailed ? words.failedForGood(name, why) : words.mayNotLoad(name);
		return { tone: 'bad', text };
	}
	if (state === 'unloading') return { tone: 'plain', text: words.unloading(name) };
	const load = model.mayLoad ? { action: 'load' as const } : {};
	if (hasFailed) return { tone: 'wait', text: words.failed(name, why), ...load };
	const text = loadSeconds === null ? words.notLoaded(name) : words.notLoadedTime(name, time(loadSeconds));
	return { tone: 'plain', text, ...load };
}
