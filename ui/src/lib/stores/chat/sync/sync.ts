/** Exchanges the conversations of the platform with their copies here (docs/decisions/0046): what other code calls. */
import type { Place } from '$lib/chat_types';
import { tryExchange } from './exchange';
import { move } from './moves';
import { removeAll, restored, settle } from './removals';
import { input, prepare } from './requests';
import { rounds } from './rounds';

export const sync = {
	/** Read the list of the platform, and exchange what has changed there or here. Raises `ApiProblem`. */
	round: () => rounds.next(),
	tryExchange,
	prepare,
	input,
	restored,
	removeAll,

	/** Keep a conversation elsewhere. Raises an error with the reason; a move that was cut goes on later. */
	async move(id: string, place: Place): Promise<void> {
		await move(id, place);
		void tryExchange(id);
	},

	/** A removal cannot be undone any more: the platform is told. */
	settle(id: string): Promise<void> {
		settle(id);
		return tryExchange(id);
	}
};
