import Synchronization

/// The checks that must pass before the service is ready. Parts add theirs while they are built.
package final class Readiness: Sendable {
    /// A condition and its name in `/readyz`: `broker`, `store`.
    package typealias Check = (name: String, passes: @Sendable () async -> Bool)

    /// The checks in groups; one of each group must pass.
    private let groups = Mutex<[[Check]]>([])

    package init() {}

    package func addCheck(_ name: String, passes: @escaping @Sendable () async -> Bool) {
        addChecks(oneOf: [(name, passes)])
    }

    /// Adds checks of which one must pass. Without the others the service works for a part of its users.
    package func addChecks(oneOf checks: [Check]) {
        groups.withLock { $0.append(checks) }
    }

    /// The names of the failed checks in the order they were added.
    package func report() async -> Report {
        var report = Report()
        for group in groups.withLock({ $0 }) {
            var failed: [String] = []
            for check in group where await !check.passes() { failed.append(check.name) }
            if failed.count == group.count { report.missing += failed } else { report.degraded += failed }
        }
        return report
    }

    package struct Report: Equatable, Sendable {
        /// What keeps the service from being ready; empty if it is.
        package var missing: [String] = []
        /// The parts that the service works without.
        package var degraded: [String] = []

        package init(missing: [String] = [], degraded: [String] = []) {
            (self.missing, self.degraded) = (missing, degraded)
        }
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
