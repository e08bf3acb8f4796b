import { asProblem, type ApiProblem } from '$lib/services/call';
import { allow, consentTo, forget, readConsents, type Consents } from '$lib/services/tools/consent';
import { listTools, offeredTools, type FunctionTool, type Tool } from '$lib/services/tools/tools';
import { putSetting, readSetting } from '$lib/storage/settings';
import { chatStorage } from './storage.svelte';

/** The setting that has the tools that a person allowed for good. */
const CONSENTS = 'tools.consents';
/** So long a list is used, in ms: as long as the platform uses the lists of MCP servers. */
const FRESH_MS = 60_000;

/** The tools of the platform for this caller, and which of them a person has allowed for good in this browser. */
class Tools {
	/** Null before they were read. */
	list: Tool[] | null = $state.raw(null);
	/** Why they could not be read. */
	problem: ApiProblem | null = $state.raw(null);
	consents: Consents = $state.raw({});
	#readAt = -Infinity;
	#reading: Promise<void> | undefined;

	/** Read the list, unless it is fresh. A problem is in `problem`. */
	async read(isForced = false): Promise<void> {
		if (!isForced && performance.now() - this.#readAt < FRESH_MS) return;
		this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
		await this.#reading;
	}

	async #read(): Promise<void> {
		this.consents = readConsents(await chatStorage.read(() => readSetting(CONSENTS), undefined));
		try {
			this.list = await listTools();
			this.problem = null;
			this.#readAt = performance.now();
		} catch (error) {
			this.problem = asProblem(error);
		}
	}

	/** Those with these names as a request takes them; those that are gone are left out. */
	async offered(names: readonly string[]): Promise<FunctionTool[]> {
		if (names.length === 0) return [];
		await this.read();
		return offeredTools(this.list ?? [], names);
	}

	/** Whether a person has allowed it for good, as it is now. */
	consent(tool: Tool): ReturnType<typeof consentTo> {
		return consentTo(tool, this.consents);
	}

	/** Allow its calls for good: as long as the tool stays as it is. */
	async allow(tool: Tool): Promise<void> {
		await this.#change((consents) => allow(consents, tool));
	}

	/** Ask for each call of it again. */
	async forget(name: string): Promise<void> {
		await this.#change((consents) => forget(consents, name));
	}

	/** Another tab may have changed them: they are read before. */
	async #change(change: (consents: Consents) => Consents): Promise<void> {
		const stored = await chatStorage.read(() => readSetting(CONSENTS), this.consents);
		this.consents = change(readConsents(stored));
		await chatStorage.write(() => putSetting(CONSENTS, this.consents));
	}
}

export const tools = new Tools();
