import Bus
import Logging
import MQTT
import ServiceKit
import ServiceLifecycle
import Synchronization
import Workouts

/// Keeps the rights of the accounts in use up to date, and ends what is over.
extension LoginService {
    private static let expiryInterval = 60.0

    /// Takes what the broker publishes about accounts.
    func receive(_ messages: some Sequence<MQTTMessage>) {
        let accounts = Set(messages.lazy.compactMap { AccountRights.account($0.topic) })
        guard !accounts.isEmpty else { return }
        state.withLock { state in
            state.probes.changed(accounts, clock.moment)
            state.awaited = state.awaited.filter { !accounts.contains($0.key.account) }
        }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { tasks in
                var expired = self.clock.moment
                while (try? await self.clock.wait(for: .seconds(1))) != nil {
                    let now = self.clock.moment
                    if now.seconds(since: expired) >= Self.expiryInterval {
                        expired = now
                        self.perform { $0.sessions.expire(now) }
                    }
                    for credential in self.state.withLock({ $0.probes.take(now) }) {
                        tasks.addTask { await self.probe(credential) }
                    }
                }
                tasks.cancelAll()
            }
        }
    }

    /// Requests of one password wait for one probe.
    func awaitProbe(_ credential: RightsProbes.Credential) async {
        let awaited = state.withLock { state in
            if let awaited = state.awaited[credential] { return awaited }
            // No child of this request: it continues for the others if this one is canceled.
            let awaited = Task { await probeSlots.run { await probe(credential) } }
            state.awaited[credential] = awaited
            return awaited
        }
        await awaited.value
        state.withLock { if $0.awaited[credential] == awaited { $0.awaited[credential] = nil } }
    }

    private func probe(_ credential: RightsProbes.Credential) async {
        let changes = state.withLock { $0.probes.changes(of: credential.account) }
        let answer = await ask(credential)
        let now = clock.moment
        switch answer {
        case .refused: refused(credential)
        case .unavailable: state.withLock { $0.probes.unanswered(credential, now) }
        case .accepted(let rights):
            let isOnline = isEngineOnline()
            perform { state in
                guard state.probes.changes(of: credential.account) == changes else {
                    // The answer of a later probe may have come before.
                    state.probes.outdated(credential, now)
                    return .init()
                }
                return state.probes.answered(credential, rights, isEngineOnline: isOnline, now)
                    .map { state.sessions.set($0, of: credential.account) } ?? .init()
            }
        }
    }
}
