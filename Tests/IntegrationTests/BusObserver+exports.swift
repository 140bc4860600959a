import Bus
import Workouts

@testable import Exporter

extension BusObserver {
    /// Waits until a session's files are there.
    func exported(_ key: SessionKey, to target: Target = .folder) async throws -> ExportStatus {
        let payload = try await wait(for: Topic.session(key, .export(target)).name) { payload in
            (try? JSONCoding.decode(ExportStatus.self, from: payload))?.status == .done
        }
        return try JSONCoding.decode(ExportStatus.self, from: payload)
    }
}
