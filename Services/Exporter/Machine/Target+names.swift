import Workouts

extension Target {
    /// Files in a folder.
    static var folder: Target { folderTarget }
    /// An HTTP upload.
    static var upload: Target { uploadTarget }
    /// Apple's HealthKit, through the user's device.
    static var healthKit: Target { healthKitTarget }
}

private let folderTarget = Target("folder")!
private let uploadTarget = Target("upload")!
private let healthKitTarget = Target("healthkit")!
