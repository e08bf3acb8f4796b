/* Words of the page of one's own tenant. */

export const account = {
	title: 'Account',
	of: (tenant: string) => `Tenant ${tenant}`,
	limits: 'Limits',
	now: (priority: string) => `What is used now. Requests run with priority ${priority.toLowerCase()} at most.`,
	models: (names: string) => `This key may use: ${names}.`,
	free: (time: string) => `all free again in ${time}`,
	refusals: 'Refused with 429 or 503',
	noRefusals: 'No request was refused with 429 or 503 within the last hour.',
	otherRefusals: '429: a limit was met. 503: the platform could not serve the request then. Requests that were refused with other codes are not counted here.',
	texts: 'Prompts and answers',
	keepsTexts: (keeps: boolean) =>
		keeps
			? 'The history of requests keeps the prompts and answers of this tenant, at most as long as their records. Administrators can ' +
				'read them, and the audit names each reader. Those of conversations, of batches and of requests with store: false are not kept.'
			: 'The history of requests keeps no prompts and no answers of this tenant.',
	usage: 'Usage by model and key',
	usageOf: (tenant: string) => `Usage of ${tenant} by model and key`,
	key: 'Key',
	splits: { model: 'Model', key: 'Key' },
	noKey: 'no key of its own',
	otherKeys: 'other keys',
	otherModels: 'other models',
	note: 'Requests that ended, about a second late; refused ones are not counted. Kept for 100 days, from the version on that counts it.',
	keys: 'An administrator makes and revokes keys.',
	programs: 'Programs',
	program: 'Program',
	address: 'Address',
	copyAddress: 'Copy the address',
	copyProgram: 'Copy the program',
	keyVariable: 'The programs read the key from the variable STOKER_API_KEY.',
	names: {
		curl: 'curl',
		python: 'Python, OpenAI SDK',
		javascript: 'JavaScript, OpenAI SDK',
		anthropic: 'Python, Anthropic SDK',
		claude_code: 'Claude Code',
		environment: 'Other clients of OpenAI (variables)'
	}
};
