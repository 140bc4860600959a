import Client
import Formats
import Foundation
import ServiceKit
import Synchronization
import TestSupport
import Testing
import Workouts

@testable import Exporter

@Suite struct ExportTargetsTests {
    @Test func `a slow disk delays no other task`() async throws {
        let folder = try TemporaryFolder()
        let began = Atomic(0)
        let late = Atomic(0)
        let disk = DispatchSemaphore(value: 0)
        let count = ProcessInfo.processInfo.activeProcessorCount + 1
        let file = FolderTarget(folder: folder.path, formats: [.fit]) { _, _, written in
            began.add(1, ordering: .relaxed)
            if disk.wait(timeout: .now() + 600) == .timedOut { late.add(1, ordering: .relaxed) }
            try written.append([1])
        }
        let targets = ExportTargets([file])
        await withTaskGroup { group in
            for _ in 0..<count {
                let collected = Self.collected(.folder)
                group.addTask { await targets.deliver(collected) { _ in } }
            }
            #expect(await eventually { began.load(ordering: .relaxed) == count })
            for _ in 0..<count { disk.signal() }
        }
        #expect(late.load(ordering: .relaxed) == 0)
    }

    private static func collected(_ target: Target) -> CollectedWork {
        let workout = ServiceWorkout().record
        let work = ExportWork(
            key: SessionKey(workout.user, workout.session), workout: 1, summaries: [:],
            destinations: [.init(target: target, idempotencyKey: "k", begun: 1)])
        return CollectedWork(
            work: work, workout: workout, series: CollectedChunks(), track: CollectedChunks(),
            fence: .ownerOfAll(workout.session), quota: .ofLargeDisk())
    }

    @Test func `a target that is no longer configured refuses workouts`() async throws {
        let targets = ExportTargets([
            FolderTarget(folder: try TemporaryFolder().path, formats: [.fit]), HealthKitTarget(),
        ])
        var outcomes: [DeliveryOutcome] = []
        await targets.deliver(Self.collected(.upload)) { outcomes.append($0) }
        let reason = "export target 'upload' is not configured; configured: folder, healthkit"
        #expect(outcomes.map(\.delivery) == [.refused(reason)])
    }

    @Test func `every target has a unique name, a policy and room for its deliveries`() {
        let targets = ExportTargets([])
        #expect(targets.policies.count == ExportTargets.all.count)
        for (name, policy) in targets.policies {
            #expect((targets.concurrency[name] ?? 0 > 0) == (policy != .device), "\(name)")
        }
    }

    /// Takes one user's workouts, and counts how often each user was asked for.
    private final class ChoosingTarget: ExportTarget {
        static let name = Target("choosing")!
        static let policy = ExportPolicy.once
        static let concurrency = 1
        let user: User
        let asked = Mutex<[User: Int]>([:])

        init(_ user: User) {
            self.user = user
        }

        init?(_ configuration: ExportConfiguration, _ resources: ExportResources) { nil }

        func takes(_ user: User) async -> Bool {
            await onFileThread { self.asked.withLock { $0[user, default: 0] += 1 } }
            return user == self.user
        }

        func deliver(
            _ workout: ExportedWorkout, idempotencyKey: String, fence: DeliveryFence, allowance: ByteAllowance
        ) async -> Delivery {
            .delivered()
        }
    }

    @Test func `a target chooses its users, once for each user of a batch`() async throws {
        let (workout, other) = (ServiceWorkout("anna"), ServiceWorkout("bert"))
        let choosing = ChoosingTarget(workout.key.user)
        var run = try await LoopRun(try TemporaryFolder(), others: [choosing])
        try await run.deliver(workout.messages + other.messages + workout.messages + other.messages)
        #expect(choosing.asked.withLock(\.self) == [workout.key.user: 1, other.key.user: 1])
        let chosen = run.takeDeliveries().filter { $0.work.destinations.map(\.target).contains(ChoosingTarget.name) }
        #expect(chosen.map(\.work.key) == [workout.key])
    }
}
