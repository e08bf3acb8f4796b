import { untrack } from 'svelte';
import type { AnswerMessage } from '$lib/chat_types';
import { wakeAll } from '$lib/services/chat/pause';
import { answers } from './answers.svelte';
import { conversations } from './conversations.svelte';
import { drafts } from './drafts.svelte';
import { models } from './models.svelte';
import { platform } from './platform.svelte';
import { runs } from './runs.svelte';
import { chatStorage } from './storage.svelte';
import { toolRuns } from './tool_runs';
import { tools } from './tools.svelte';

/** Begin the chat of this tab: the layout of its pages calls it once, in an effect. Returns what ends it. */
export function startChat(): () => void {
	return untrack(() => {
		answers.use({
			tools: (names) => tools.offered(names),
			modalities: (model) => models.find(model)?.inputs,
			reasoning: (model) => models.find(model)?.reasoning,
			isGone: (model) => models.isGone(model),
			media: (model) => models.find(model)
		});
		const ends = [chatStorage.start(), conversations.start(), toolRuns.start(), runs.start(), platform.start()];
		const onEnd = ({ conversation, status }: AnswerMessage) => {
			// its model may have failed, or be gone
			if (status === 'failed') void models.refresh();
			if (conversations.get(conversation)?.place === 'server') platform.changed(conversation, 0);
		};
		ends.push(runs.onEnd(onEnd));
		const onHide = () => {
			drafts.flush();
			runs.flush();
		};
		const onVisible = () => (document.hidden ? onHide() : wakeAll());
		addEventListener('pagehide', onHide);
		addEventListener('online', wakeAll);
		document.addEventListener('visibilitychange', onVisible);
		return () => {
			removeEventListener('pagehide', onHide);
			removeEventListener('online', wakeAll);
			document.removeEventListener('visibilitychange', onVisible);
			for (const end of ends) end();
		};
	});
}
