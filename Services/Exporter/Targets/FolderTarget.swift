import Foundation
import Workouts

/// Leaves workouts as files in a folder, in a folder of its own for each user.
///
/// Files of all formats are written under hidden names and brought to the disk before the first of them appears, so a full
/// disk leaves the files of an earlier revision as they are. Files and folders are readable by their owner alone.
struct FolderTarget: Sendable {
    let folder: String
    let formats: [ExportFormat]
    let encode: @Sendable (ExportFormat, ExportedWorkout) -> [UInt8]

    /// The files that a workout will have, below the folder. Kept beforehand, they are found after a crash too.
    func files(of workout: WorkoutRecord) -> [String] {
        formats.map { ExportFile(workout, $0).path }
    }

    /// Writes the files of a workout, instead of those of the same name.
    func deliver(_ workout: ExportedWorkout) -> Delivery {
        let files = formats.map { ExportFile(workout.workout, $0) }
        do throws(DurableFolder.Problem) {
            let place = place(of: workout.workout.user)
            try place.make()
            try write(files, of: workout, to: place)
        } catch {
            return .failed("\(error)")
        }
        return .delivered(files: files.map(\.path))
    }

    private func write(
        _ files: [ExportFile], of workout: ExportedWorkout, to place: DurableFolder
    ) throws(DurableFolder.Problem) {
        var hidden: [(name: String, file: ExportFile)] = []
        do throws(DurableFolder.Problem) {
            for file in files {
                hidden.append((try place.writeHidden(encode(file.format, workout), "\(file.key.session)"), file))
            }
            for (name, file) in hidden { try place.rename(name, to: file.name) }
        } catch {
            for (name, _) in hidden { try place.remove(name) }
            throw error
        }
        try place.sync()
    }

    /// Removes files of a workout, below the folder; what is not there is no error, and paths that it never gave are left alone.
    func remove(_ files: [String]) throws(DurableFolder.Problem) {
        for file in files.compactMap(ExportFile.init) {
            let place = place(of: file.key.user)
            try place.remove(file.name)
            try place.sync()
        }
    }

    /// Removes every file of some sessions, also those that nobody took note of before a process was killed.
    func removeAll(of keys: Set<SessionKey>) throws(DurableFolder.Problem) {
        for user in Set(keys.map(\.user)) {
            let place = place(of: user)
            let files = try place.names().compactMap { ExportFile("\(user)/\($0)") }.filter { keys.contains($0.key) }
            for file in files { try place.remove(file.name) }
            if !files.isEmpty { try place.sync() }
        }
    }

    /// Removes what a process that was killed was writing of some shards' sessions: others write theirs to this folder too. To
    /// be called before the first delivery.
    func clear(_ shards: Set<Shard>) throws(DurableFolder.Problem) {
        for user in try DurableFolder(path: folder).names().compactMap(User.init) {
            try place(of: user).removeHidden { SessionID($0).map { shards.contains($0.shard) } ?? false }
        }
    }

    private func place(of user: User) -> DurableFolder {
        DurableFolder(path: "\(folder)/\(user)")
    }
}
