import Synchronization

/// Whether the disk took the last commit: what `/readyz` asks of a service's store.
package final class StoreHealth: Sendable {
    private let state = Atomic(true)

    package init() {}

    package var isWriting: Bool { state.load(ordering: .relaxed) }

    /// Takes note of how a commit went and tells whether the one before went otherwise.
    @discardableResult
    package func note(_ success: Bool) -> Bool {
        state.exchange(success, ordering: .relaxed) != success
    }
}
