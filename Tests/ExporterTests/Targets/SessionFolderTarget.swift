import Formats
import Foundation
import ServiceKit
import TestSupport
import Workouts

@testable import Exporter

/// A second target that keeps files, with another layout: one folder for each session.
struct SessionFolderTarget: ExportTarget {
    static let name = Target.sessionFolder
    static let policy = ExportPolicy.replace
    static let concurrency = 2

    let folder: String

    init(folder: String) {
        self.folder = folder
    }

    init?(_ configuration: ExportConfiguration, _ resources: ExportResources) { nil }

    func deliver(
        _ workout: ExportedWorkout, idempotencyKey: String, fence: DeliveryFence, allowance: ByteAllowance
    ) async -> Delivery {
        if let refusal = await fence.refusal() { return refusal }
        let record = workout.workout
        let file = "\(record.session)-\(record.user)/\(record.revision).json"
        return await onFileThread {
            do {
                let url = URL(filePath: "\(folder)/\(file)")
                try? FileManager.default.removeItem(at: url.deletingLastPathComponent())
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(ExportFormat.json.bytes(of: workout)).write(to: url)
                return .delivered(files: [file])
            } catch {
                return .failed("\(error)")
            }
        }
    }

    func remove(_ keys: Set<SessionKey>) async throws {
        await onFileThread {
            for key in keys { try? FileManager.default.removeItem(atPath: "\(folder)/\(key.session)-\(key.user)") }
        }
    }
}

extension Target {
    static let sessionFolder = Target("session-folder")!
}
