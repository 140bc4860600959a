package import Formats
package import Workouts

extension ExportedWorkout {
    /// A workout whose rows are in memory.
    package init(workout: WorkoutRecord, series: Series, track: Track) {
        do {
            try self.init(
                workout: workout, series: ChunkedRows(count: 1) { _ in series },
                track: ChunkedRows(count: 1) { _ in track })
        } catch {
            preconditionFailure("rows in memory are readable: \(error)")
        }
    }
}

extension ExportFormat {
    /// The file of a workout whose rows are in memory.
    package func bytes(of workout: ExportedWorkout) -> [UInt8] {
        do {
            return try file(of: workout)
        } catch {
            preconditionFailure("rows in memory are readable: \(error)")
        }
    }

    /// The file of any workout.
    package func file(of workout: ExportedWorkout) throws -> [UInt8] {
        var bytes: [UInt8] = []
        let start = try write(workout) { bytes += $0 }
        bytes.replaceSubrange(..<start.count, with: start)
        return bytes
    }
}
