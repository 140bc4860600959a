import Foundation
import Synchronization
import TestSupport
import Testing
import Workouts

@testable import Exporter

@Suite struct ExportTargetsTests {
    @Test func `files that wait for the disk keep no other task waiting`() async throws {
        let folder = try TemporaryFolder()
        let began = Atomic(0)
        let late = Atomic(0)
        let disk = DispatchSemaphore(value: 0)
        let count = ProcessInfo.processInfo.activeProcessorCount + 1
        var targets = ExportTargets()
        targets.folder = FolderTarget(folder: folder.path, formats: [.fit]) { _, _ in
            began.add(1, ordering: .relaxed)
            if disk.wait(timeout: .now() + 60) == .timedOut { late.add(1, ordering: .relaxed) }
            return [1]
        }
        await withTaskGroup { [targets] group in
            for _ in 0..<count {
                let workout = ServiceWorkout().record
                let work = ExportWork(
                    key: SessionKey(workout.user, workout.session), workout: 1, summaries: [:],
                    destinations: [.init(target: .folder, idempotencyKey: "k", begun: 1)])
                let collected = CollectedWork(
                    work: work, workout: workout, series: Series(times: [], columns: []),
                    track: Track(times: [], columns: []))
                group.addTask { await targets.deliver(collected) { _ in } }
            }
            #expect(await eventually { began.load(ordering: .relaxed) == count })
            for _ in 0..<count { disk.signal() }
        }
        #expect(late.load(ordering: .relaxed) == 0)
    }
}
