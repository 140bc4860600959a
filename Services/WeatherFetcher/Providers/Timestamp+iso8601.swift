import Foundation
import Workouts

extension Timestamp {
    /// Reads `2026-03-26T16:15:00Z`.
    init?(iso8601 text: String) {
        guard let date = try? Date(text, strategy: .iso8601) else { return nil }
        self.init(seconds: date.timeIntervalSince1970)
    }
}
