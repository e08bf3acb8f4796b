import { listConversations, markOf, type Quota, type ServerConversation } from '$lib/services/chat/sync/conversation_calls';

const FIRST = 20;
const PAGE = 100;
const MAX_PAGES = 20;

export interface ListReading {
	/** The conversations that were read, the latest changed first. */
	listed: ServerConversation[];
	/** Whether they are all of the tenant's. */
	isWhole: boolean;
	quota: Quota;
}

/** Reads the list of conversations: all of it at first, and then as far as something has changed. */
export class ListReader {
	#marks = new Map<string, string>();
	#count: number | null = null;

	/** Raises `ApiProblem`. */
	async read(): Promise<ListReading> {
		let page = await listConversations(this.#count === null ? PAGE : FIRST);
		const { quota } = page;
		const listed = [...page.data];
		const isNew = ({ id }: ServerConversation) => !this.#marks.has(id);
		const isKnown = (one: ServerConversation) => this.#marks.get(one.id) === markOf(one);
		// a conversation was deleted if their number does not fit: the whole list shows which
		const fits = () => this.#count !== null && quota.conversations === this.#count + listed.filter(isNew).length;
		for (let pages = 1; page.has_more && pages < MAX_PAGES && !(fits() && page.data.some(isKnown)); pages += 1) {
			page = await listConversations(PAGE, page.last_id);
			listed.push(...page.data);
		}
		const isWhole = !page.has_more;
		if (isWhole) this.#marks.clear();
		for (const one of listed) this.#marks.set(one.id, markOf(one));
		this.#count = quota.conversations;
		return { listed, isWhole, quota };
	}
}
