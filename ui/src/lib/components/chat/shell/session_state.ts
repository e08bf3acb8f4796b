import type { Session } from '$lib/services/session';

/** Whether requests of this session may ask a model. */
export function canChat(session: Session): boolean {
	return session.open || session.scopes.includes('inference');
}
