import Synchronization

/// A condition for the readiness of a service.
package struct ReadinessCheck: Sendable {
    /// Its name in `/readyz`: `broker`, `store`.
    package let name: String
    package let check: @Sendable () async -> Bool

    package init(_ name: String, check: @escaping @Sendable () async -> Bool) {
        self.name = name
        self.check = check
    }
}

/// The checks that must pass before the service is ready. Parts add theirs while they are built.
package final class Readiness: Sendable {
    private let checks = Mutex<[ReadinessCheck]>([])

    package init() {}

    package func add(_ name: String, check: @escaping @Sendable () async -> Bool) {
        checks.withLock { $0.append(ReadinessCheck(name, check: check)) }
    }

    /// The names of the failed checks in the order they were added; empty if the service is ready.
    package func missing() async -> [String] {
        var missing: [String] = []
        for check in checks.withLock({ $0 }) where await !check.check() {
            missing.append(check.name)
        }
        return missing
    }
}

/// Whether the last commit to a service's store succeeded: the readiness check `store`.
package final class StoreHealth: Sendable {
    private let state = Atomic(true)

    package init() {}

    package var isWriting: Bool { state.load(ordering: .relaxed) }

    /// Records the outcome of a commit and returns whether it differs from the last one.
    @discardableResult
    package func note(_ success: Bool) -> Bool {
        state.exchange(success, ordering: .relaxed) != success
    }
}
