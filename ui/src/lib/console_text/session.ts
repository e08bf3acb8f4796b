/* Words of the sign-in, of rights that a session lacks, and of the list of sessions. */

type Right = 'read' | 'operate' | 'admin' | 'governance';

/** The roles that have a right, as docs/decisions/0061 has them. */
const ROLES_WITH: Record<Right, string> = {
	read: 'viewer',
	operate: 'operator or admin',
	admin: 'admin',
	governance: 'approver or admin'
};

export const session = {
	signIn: 'Sign in',
	signOut: 'Sign out',
	key: 'API key',
	hint: 'It is sent once and not stored in this browser. The session ends after 12 hours without use.',
	usingLink: 'Signing in with your link',
	usingAnswer: 'Signing in',
	by: (provider: string) => `Sign in with ${provider}`,
	orKey: 'Or with a key:',
	person: 'Signed in as',
	rolesOf: (roles: readonly string[]) => `Roles: ${roles.join(', ')}`,
	/** Why an action is disabled. */
	mayNot: (right: Right, roles: readonly string[]) =>
		roles.length > 0
			? `This needs the role ${ROLES_WITH[right]}; you have ${roles.join(', ')}.`
			: `This needs a key with the scope ${right}.`,
	/** Above a page whose actions are disabled. */
	readsOnly: (right: Right, roles: readonly string[]) =>
		roles.length > 0
			? `You may read this page. Its changes need the role ${ROLES_WITH[right]}; you have ${roles.join(', ')}.`
			: `This key may read this page. Its changes need the scope ${right}.`,
	needed: {
		read: 'Sign in as an operator or with the key of an administrator to see this page.',
		admin: 'Sign in as an administrator to see this page.',
		inference: 'Sign in with a key of your tenant to see its limits, keys and usage.'
	},
	ownAccount: 'See the limits, keys and usage of your own tenant',
	/** Instead of a page. `isOver`: the key or the person has the right, and this session has not. */
	rightMissing: (right: Right | 'inference', roles: readonly string[], isOver: boolean) => {
		if (isOver) return 'Sign in again to see this page: this session is for the chat alone, or had no request for 30 minutes.';
		return roles.length > 0 && right !== 'inference'
			? `This page needs the role ${ROLES_WITH[right]}; you have ${roles.join(', ')}.`
			: `This page needs a key with the scope ${right}.`;
	},
	/** Before how to sign in. */
	ended: 'Your session has ended.',
	signOutFailed: 'You are still signed in: the platform did not end the session. Sign out again.',
	unreachable: 'The platform cannot be reached.'
};

export const sessions = {
	title: 'Sessions',
	empty: 'No browser is signed in.',
	notListed: (listed: number, all: number) =>
		`These are the ${listed} of ${all} sessions that were used last. The others follow when some of these are ended.`,
	columns: {
		owner: 'Person or key',
		roles: 'Roles',
		tenant: 'Tenant',
		address: 'Address',
		browser: 'Browser',
		created: 'Signed in',
		used: 'Last used',
		actions: 'Actions'
	},
	current: 'this one',
	byKey: 'by a key',
	unknownKey: 'a revoked key',
	end: 'End',
	endOf: (owner: string) => `End the session of ${owner}`,
	endFrom: (address: string, at: string) => `End the session from ${address || 'an unknown address'} of ${at}`,
	own: 'These browsers are signed in as you, or with the same key. The button Sign out ends the session of this one.',
	endOwnMeans: 'Its next request is refused, and its pages for operators end. An answer under way goes on to its end.',
	endMeans:
		'Its next request is refused, and its pages for operators end. An answer under way goes on to its end. Signing in again is ' +
		'possible: revoke the key, or change the groups of the person at the provider, to prevent that.'
};
