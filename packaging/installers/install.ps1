<#
Installs codeskim @VERSION@ for this user alone: downloads the archive for Windows, checks it, and puts the program in a folder.

    powershell -ExecutionPolicy Bypass -File install.ps1 [-Url BASE] [-Bin FOLDER]

-Url, or CODESKIM_URL in the environment, says where the files of the release are.
#>
param(
    [string]$Url = $(if ($env:CODESKIM_URL) { $env:CODESKIM_URL } else { '@URL@' }),
    [string]$Bin = (Join-Path $env:LOCALAPPDATA 'codeskim\bin')
)
$ErrorActionPreference = 'Stop'
# Windows PowerShell draws its progress bar for each piece that comes, which takes far longer than the download.
$ProgressPreference = 'SilentlyContinue'
[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12

function Get-ReleaseFile([string]$Name, [string]$Path) {
    try {
        Invoke-WebRequest -UseBasicParsing -Uri "$Url/$Name" -OutFile $Path
    } catch {
        throw "$Url/$Name cannot be downloaded ($($_.Exception.Message))."
    }
}

function Install-Codeskim([string]$Work) {
    # A 32-bit PowerShell names the system's processor in the second variable. Windows on ARM runs programs for x64.
    $machine = if ($env:PROCESSOR_ARCHITEW6432) { $env:PROCESSOR_ARCHITEW6432 } else { $env:PROCESSOR_ARCHITECTURE }
    if ($machine -notin 'AMD64', 'ARM64') { throw "there is no program for $machine; build codeskim from its source." }
    $name = 'codeskim-@VERSION@-x86_64-pc-windows-gnu'
    $sums = Join-Path $Work 'SHA256SUMS'
    $archive = Join-Path $Work "$name.zip"

    Get-ReleaseFile 'SHA256SUMS' $sums
    $line = Get-Content $sums | Where-Object { $_.EndsWith("  $name.zip") }
    if (-not $line) { throw "this release has no $name.zip." }
    Get-ReleaseFile "$name.zip" $archive
    $found = (Get-FileHash -Algorithm SHA256 -Path $archive).Hash
    if ($found -ne $line.Split(' ')[0]) { throw "$name.zip is not what SHA256SUMS says it is; nothing was installed." }

    Expand-Archive -Path $archive -DestinationPath $Work
    $program = Join-Path $Work "$name\codeskim.exe"
    $version = & $program --version
    if ($LASTEXITCODE -ne 0) { throw "the program in $name.zip does not start on this machine; nothing was installed." }
    New-Item -ItemType Directory -Force -Path $Bin | Out-Null
    try {
        Copy-Item -Force -Path $program -Destination (Join-Path $Bin 'codeskim.exe')
    } catch {
        throw "$Bin\codeskim.exe cannot be written; end the clients that run it, and try again ($($_.Exception.Message))."
    }
    Write-Output "$version is installed as $Bin\codeskim.exe."
    if (($env:Path -split ';') -notcontains $Bin) { Write-Output "Add $Bin to Path to start it by its name." }
}

$work = Join-Path ([IO.Path]::GetTempPath()) ([Guid]::NewGuid())
try {
    New-Item -ItemType Directory -Path $work | Out-Null
    Install-Codeskim $work
} catch {
    [Console]::Error.WriteLine("install.ps1: $($_.Exception.Message)")
    if ($PSCommandPath) { exit 1 } # Without a file, as with iex, that would end the session.
} finally {
    Remove-Item -Recurse -Force -ErrorAction SilentlyContinue -Path $work
}
