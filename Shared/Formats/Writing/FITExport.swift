import FIT
import Workouts

/// Writes a workout as a FIT activity, with its messages in order of time as devices write them.
///
/// The same workout gives the same bytes. All its revisions have the same serial number and time, by which programs
/// recognise a file that they already have. Any record and any points are valid input.
struct FITExport {
    let workout: WorkoutRecord
    let exported: ExportedWorkout
    let clock: Clock
    let sets: Sets
    let pieces: Pieces
    var file = FITWriter()

    /// - Returns: the header that replaces the first bytes of the file.
    static func write(_ exported: ExportedWorkout, to pieces: Pieces) throws -> [UInt8] {
        var export = FITExport(exported, pieces)
        export.addOrigin()
        export.addTitles()
        try export.addCourse()
        export.addSession()
        export.addActivity()
        var (rest, header) = export.file.finish()
        try pieces.passAll(&rest)
        return header
    }

    private init(_ exported: ExportedWorkout, _ pieces: Pieces) {
        self.exported = exported
        self.pieces = pieces
        workout = exported.workout
        clock = Clock(exported)
        sets = Sets(workout, clock)
    }
}

extension Pieces {
    func pass(_ file: inout FITWriter) throws {
        guard file.pendingCount >= Self.size else { return }
        var bytes = file.take()
        try passAll(&bytes)
    }
}

extension FITExport {
    /// FIT's number for unregistered manufacturers.
    private static let manufacturer = 255
    private static let product = 1
    /// FIT's file type of an activity.
    private static let activityFile = 4

    /// Major and minor version, in hundredths.
    private static var softwareVersion: Int {
        let parts = pacebusVersion.split(separator: ".").compactMap { Int($0) }
        return parts.count < 2 ? 0 : parts[0] * 100 + parts[1]
    }

    /// FNV-1a of the workout's user and session. 0 means no serial number.
    private var serialNumber: Int {
        let hash = "\(workout.user)/\(workout.session)".utf8.reduce(UInt32(0x811C_9DC5)) {
            ($0 ^ UInt32($1)) &* 0x0100_0193
        }
        return Int(max(1, hash))
    }

    private mutating func addOrigin() {
        typealias ID = FITProfile.FileID
        file.addMessage(
            ID.global,
            [
                .init(ID.type, Self.activityFile), .init(ID.manufacturer, Self.manufacturer),
                .init(ID.product, Self.product), .init(ID.serialNumber, serialNumber),
                .init(ID.created, clock.start), .init(ID.productName, "Pacebus"),
            ])
        file.addMessage(FITProfile.FileCreator.global, [.init(FITProfile.FileCreator.software, Self.softwareVersion)])
        typealias Info = FITProfile.DeviceInfo
        file.addMessage(
            Info.global,
            [
                .init(FITProfile.timestamp, clock.start), .init(Info.index, 0),
                .init(Info.manufacturer, Self.manufacturer), .init(Info.serialNumber, serialNumber),
                .init(Info.product, Self.product), .init(Info.software, Double(Self.softwareVersion) / 100),
            ])
    }
}
