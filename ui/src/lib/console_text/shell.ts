/* Words of what stands on every page: its head and navigation, and what cannot be read or done. */

import { en } from '$lib/chat_text/en';
import { doesAnswer, type ApiProblem } from '$lib/services/call';

export const product = 'Stoker';

export const skip = 'Skip to the content';

export const about = {
	label: 'About this platform',
	version: (version: string) => `Stoker ${version}`,
	documentation: 'API documentation',
	flower: 'Flower (tasks)',
	frozen: (since: number) =>
		`The platform has not answered since ${new Date(since).toLocaleTimeString('en-GB')}: what this page shows is of that time.`
};

export const nav = {
	label: 'Pages',
	chat: 'Chat',
	overview: 'Overview',
	models: 'Models',
	operations: 'Operations',
	workers: 'Workers',
	alerts: 'Alerts',
	queue: 'Queue',
	tenants: 'Tenants',
	account: 'Account',
	cache: 'Cache',
	approvals: 'Approvals',
	audit: 'Audit',
	requests: 'Requests',
	sessions: 'Sessions'
};

export const common = {
	loading: 'Reading from the platform',
	...en.common,
	stale: (since: Date | undefined, problem: ApiProblem | undefined) => {
		const at = since?.toLocaleTimeString('en-GB');
		return problem && doesAnswer(problem)
			? `The platform answers, but refuses: ${problem.message.replace(/\.$/, '')}. What you see ${at ? `is of ${at}` : 'may be old'}; asking again.`
			: `The connection was lost${at ? ` at ${at}` : ''}. What you see may be old; connecting again.` +
				(problem ? ` (${problem.message})` : '');
	},
	unknown: 'unknown',
	none: 'none',
	asCurl: 'As curl',
	copyCommand: 'Copy the command',
	keyOfCurl: (variable: string) => `The command reads a key with the right for this from the variable ${variable}.`
};
